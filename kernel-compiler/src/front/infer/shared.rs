//! Arrays in the shared memory of a program.

use crate::diag::{Code, Result};
use crate::dtype::DType;
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{SharedArray, StmtKind};

/// The bytes of all arrays of a kernel. Exchanges of its operations take more shared memory.
const MAX_SHARED_ARRAY_BYTES: usize = 64 << 10;

impl Infer<'_> {
    /// `shared_array::<T>(N)`: the array, whose elements become zero here.
    pub(super) fn shared_array(&mut self, c: &Call) -> Result<Val> {
        let [len] = self.args(c)?;
        let at = c.args[0].span;
        let n = self.const_int(&len, at, "the number of elements")?;
        let dtype = self.type_arg(c)?.unwrap_or(DType::F32);
        let Some(len) = usize::try_from(n).ok().filter(|&n| n > 0 && n <= MAX_SHARED_ARRAY_BYTES / dtype.size()) else {
            let most = MAX_SHARED_ARRAY_BYTES / dtype.size();
            return self.error(
                Code::SharedArray,
                at,
                format!("a shared array of {dtype} has 1 to {most} elements, found {n}"),
            );
        };
        if self.ctas > 1 {
            let ctas = self.ctas;
            return self.error(
                Code::ClusterSharedArray,
                c.span,
                format!("a program of {ctas} thread blocks has no shared array: tune the kernel with `ctas = [1]`"),
            );
        }
        let is_taken = |cx: &Self, name: &str| {
            cx.params.iter().any(|p| p.name == name) || cx.shared.iter().any(|a| a.name == name)
        };
        let name = (self.shared.len()..).map(|i| format!("shared{i}")).find(|n| !is_taken(self, n));
        let array = self.shared.len();
        self.shared.push(SharedArray { name: name.expect("one is free"), dtype, len });
        let (_, bytes) = SharedArray::places(&self.shared);
        if bytes > MAX_SHARED_ARRAY_BYTES {
            let most = MAX_SHARED_ARRAY_BYTES >> 10;
            return self.error(
                Code::SharedArray,
                c.span,
                format!("the shared arrays of the kernel take {bytes} bytes, of {most} KB at most"),
            );
        }
        self.emit(StmtKind::Clear { array, span: c.span.first });
        Ok(Val::Shared(array))
    }
}
