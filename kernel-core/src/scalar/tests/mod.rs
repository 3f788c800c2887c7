mod accuracy;
mod bytes;
mod meaning;
