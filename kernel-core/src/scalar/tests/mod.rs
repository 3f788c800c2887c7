mod accuracy;
mod accuracy_of_f64;
mod accuracy_of_pairs;
mod bytes;
mod meaning;
