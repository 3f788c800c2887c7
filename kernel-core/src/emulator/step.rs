//! The hardware steps of a thread: what the device library calls on the host.

#[derive(Clone, Copy)]
pub enum Source {
    Xor(u32),
    Lane(u32),
}

/// One shared-memory instruction of a thread.
#[derive(Clone, Copy)]
pub struct Access;

pub fn thread() -> u32 {
    todo!()
}
pub fn program_id(_axis: u32) -> u32 {
    todo!()
}
pub fn num_programs(_axis: u32) -> u32 {
    todo!()
}
pub fn barrier(_site: u32) {
    todo!()
}
pub fn warp_barrier(_site: u32) {
    todo!()
}
pub fn fence() {
    todo!()
}
pub fn shuffle(_v: u32, _from: Source, _site: u32) -> u32 {
    todo!()
}
pub unsafe fn global_load(_addr: u64, _bytes: usize, _site: u32) -> u128 {
    todo!()
}
pub unsafe fn global_store(_addr: u64, _bytes: usize, _value: u128, _site: u32) {
    todo!()
}
pub fn begin_shared(_write: bool, _site: u32) -> Access {
    todo!()
}
pub fn shared_load(_off: u32, _bytes: usize, _call: Access, _r: usize) -> u128 {
    todo!()
}
pub fn shared_store(_off: u32, _bytes: usize, _value: u128, _call: Access, _r: usize) {
    todo!()
}
pub unsafe fn atomic(_addr: u64, _bytes: usize, _relaxed: bool, _site: u32, _replace: impl Fn(u64) -> u64) -> u64 {
    todo!()
}
pub fn assert_failed(_msg: &str, _site: u32) {
    todo!()
}
pub fn print(_msg: &str, _value: String, _site: u32) {
    todo!()
}
