//! Sweeps, what they save, and their pages.

mod browser;
mod files;
mod measuring;
mod saved;
