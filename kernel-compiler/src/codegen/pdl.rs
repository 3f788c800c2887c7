//! Programmatic dependent launch (`pdl = [..]`): a kernel begins before the previous launch has ended, and waits for
//! its end at one place.

use crate::codegen::context::Codegen;
use crate::codegen::role::Role;
use crate::thread_ir::{Device, call};

impl Codegen<'_> {
    /// The kernel's body.
    pub(super) fn body(&mut self) {
        let (f, at) = (self.f, self.plan.pdl_wait);
        let at = at.filter(|_| matches!(self.role, Role::Whole) || !planted!("pdl-roles-do-not-wait"));
        for (i, s) in f.body.iter().enumerate() {
            if at == Some(i) {
                self.await_launch();
            }
            self.stmt(s);
        }
        if at == Some(f.body.len()) {
            self.await_launch();
        }
    }

    fn await_launch(&mut self) {
        self.line(call!(Device::GridDependencyWait;));
    }
}
