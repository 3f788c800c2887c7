//! Sweeps, their saved files, and their pages.

mod browser;
mod files;
mod measuring;
mod saved;
