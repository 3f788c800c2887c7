mod accuracy;
mod meaning;
