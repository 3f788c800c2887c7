//! Edge values: NaN, infinities, zeros of both signs, subnormals, empty and one-element inputs. A table has the results
//! of each operation: torch's, or this project's own with the reason. Every run of the suite walks it.

mod compare;
mod table;

pub use compare::compare;
pub use table::{EdgeRow, Table, missing_classes};

use tilewright_core::DType;

/// The rows of an operation and a dtype that hold with a chosen configuration, or without one.
pub fn rows(operation: &str, dtype: DType, pinned: bool) -> impl Iterator<Item = &'static EdgeRow> {
    table::TABLE.rows().iter().filter(move |r| r.is_of(operation, dtype) && r.runs(pinned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OPERATIONS;

    fn sizes(operation: &str, dtype: DType) -> Vec<&'static [u64]> {
        rows(operation, dtype, false).map(|r| r.size.as_slice()).collect()
    }

    #[test]
    fn every_operation_has_rows_of_nothing_of_one_element_and_of_more() {
        for op in OPERATIONS {
            for &dtype in op.dtypes {
                let (what, sizes) = (format!("{} {}", op.name, dtype.name()), sizes(op.name, dtype));
                assert!(sizes.iter().all(|s| s.len() == op.axes.len()), "{what}: a size of other axes");
                assert!(sizes.iter().any(|s| s.contains(&0)), "{what}: nothing");
                assert!(sizes.iter().any(|s| s.iter().all(|n| *n == 1)), "{what}: one element");
                assert!(sizes.iter().any(|s| s.iter().product::<u64>() > 1), "{what}: more");
            }
        }
    }

    #[test]
    fn each_input_of_an_operation_has_rows_of_each_class() {
        for op in OPERATIONS {
            for &dtype in op.dtypes {
                let missing = missing_classes(rows(op.name, dtype, false));
                assert!(missing.is_empty(), "{} {}: {missing:?}", op.name, dtype.name());
            }
        }
    }

    #[test]
    fn every_row_is_of_an_operation() {
        let known = |o: &str| OPERATIONS.iter().any(|op| op.name == o);
        for row in table::TABLE.rows() {
            assert!(row.ops().iter().all(|o| known(o)), "{}: {:?}", row.name, row.ops());
        }
    }
}
