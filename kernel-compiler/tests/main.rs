//! The phases of the compiler from outside: text in, facts and text out.

mod aggregates;
mod announced_stores;
mod architecture;
mod axis_info;
mod barriers;
mod block_pointers;
mod breakpoints;
mod common;
mod control_flow;
mod expansion;
mod expansion_size;
mod explain;
mod filetests;
mod lowered_code;
mod no_cycles;
mod optional;
mod parameters;
mod pdl;
mod pipeline_dots;
mod predicates;
mod ranges;
mod remarks;
mod show;
mod snapshots;
mod text_form;
mod thread_ir;
