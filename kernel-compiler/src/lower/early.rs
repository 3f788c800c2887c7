//! Launches that begin while the one before them ends (`early = [..]`): what a kernel does until that has ended, and where it waits.

use super::*;

/// The first statement of the body that has to wait for the launch before: it reads what that may have written, writes what it may
/// read, or ends the program. A launch must not end before the one it follows, so somebody waits in any case.
fn first_that_waits(f: &Func, early: &[usize]) -> usize {
    let goes_ahead = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { place, .. } => early.contains(&place.param()),
            op => !op.has_effect(),
        },
        StmtKind::Store { .. } | StmtKind::Return | StmtKind::Assert { .. } | StmtKind::Print { .. } => false,
        _ => true,
    };
    f.body.iter().position(|s| !crate::analyse::walk(std::slice::from_ref(s)).all(goes_ahead)).unwrap_or(f.body.len())
}

impl Lower<'_> {
    /// The kernel's body. The roles of a specialised program, which do not all come by every statement, wait as they begin.
    pub(super) fn body(&mut self) {
        let f = self.f;
        let at =
            f.early.as_ref().map(|early| if matches!(self.role, Role::Whole) { first_that_waits(f, early) } else { 0 });
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
        self.line("d::grid_dependency_wait();".into());
    }
}
