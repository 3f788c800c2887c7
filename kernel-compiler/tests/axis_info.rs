//! Axis information of indices: runs, alignment, constancy; and the widths of accesses that follow.

use crate::common::{indices, kernel, masks};
use tilewright_compiler::Width;
use tilewright_compiler::analysis::assume::analyze;
use tilewright_compiler::analysis::axis_info::{Assume, AxisInfo, DimInfo};
use tilewright_compiler::ir::{Guard, Test};

/// The axis information of the first index of a kernel with this body, in the variant for aligned arguments.
fn info(body: &str) -> AxisInfo {
    let f = kernel("f32", body);
    analyze(&f, Assume::Multiples(Width::Vectors)).info(&f, indices(&f)[0])
}

fn along(body: &str) -> DimInfo {
    info(body).dims[0]
}

/// Elements that one access moves, and whether downwards: of the first access, for aligned arguments.
fn vector(types: &str, body: &str) -> (usize, bool) {
    let f = kernel(types, body);
    let (index, bytes) = (indices(&f)[0], f.params[0].dtype.size());
    let general = analyze(&f, Assume::Nothing);
    assert_eq!(
        general.vector(&f, index, general.order(&f, index)[0], bytes),
        (1, false),
        "nothing is assumed of any argument"
    );
    let a = analyze(&f, Assume::Multiples(Width::Vectors));
    a.vector(&f, index, a.order(&f, index)[0], bytes)
}

/// A kernel that copies at an index.
fn copy(index: &str) -> String {
    format!("let i = program_id(0) * 1024 + arange(1024); let j = {index}; store(y, j, load(x, j));")
}

#[test]
fn consecutive() {
    let a = along(&copy("i"));
    assert_eq!((a.contiguity, a.reverse_contiguity, a.constancy), (1024, 1, 1));
    assert_eq!(a.divisibility.divisor(), 1024);
    // Extents that are no powers of two: groups are, of the tile as it is padded.
    assert_eq!(along("let i = arange(100); store(y, i, load(x, i));").contiguity, 128);
}

#[test]
fn sixteen_bytes_of_any_type() {
    for (t, n) in [("f64", 2), ("f32", 4), ("i32", 4), ("f16", 8), ("bf16", 8), ("u8", 16)] {
        assert_eq!(vector(t, &copy("i")), (n, false), "{t}");
    }
}

#[test]
fn offsets_keep_runs_but_not_alignment() {
    for (offset, width) in [("i + 1", 1), ("i + 2", 2), ("i + 4", 4), ("i + 6", 2), ("i + 1024", 4)] {
        assert_eq!(along(&copy(offset)).contiguity, 1024, "{offset}");
        assert_eq!(vector("f32", &copy(offset)), (width, false), "{offset}");
    }
    assert_eq!(along(&copy("i + 6")).divisibility.divisor(), 2);
}

#[test]
fn descending() {
    let a = along(&copy("n - 1 - i"));
    assert_eq!((a.contiguity, a.reverse_contiguity), (1, 1024));
    assert_eq!(vector("f32", &copy("n - 1 - i")), (4, true), "n is a multiple of 4 here");
    assert_eq!(vector("f32", &copy("n - i")), (1, false), "one off");
    assert_eq!(vector("f32", &copy("1023 - arange(1024)")), (4, true));
    assert_eq!(vector("f32", &copy("1023 - (1023 - arange(1024))")), (4, false), "and back again");
}

#[test]
fn strides_are_no_runs() {
    for index in ["i * 2", "i * n", "i << 1"] {
        let a = along(&copy(index));
        assert_eq!((a.contiguity, a.reverse_contiguity), (1, 1), "{index}");
        assert_eq!(vector("f32", &copy(index)), (1, false), "{index}");
    }
    assert_eq!(along(&copy("i * 1")).contiguity, 1024);
}

#[test]
fn division_makes_constants_and_shorter_runs() {
    let q = along(&copy("i / 16"));
    assert_eq!((q.contiguity, q.constancy), (1, 16));
    let r = along(&copy("i % 16"));
    assert_eq!((r.contiguity, r.divisibility.divisor()), (16, 16));
    assert_eq!(vector("f32", &copy("i % 2")), (2, false));
    // Nothing is known of where a group that starts anywhere wraps around.
    assert_eq!(along(&copy("(i + 3) % 16")).contiguity, 1);
    assert_eq!(along(&copy("i / 10")).constancy, 1);
}

#[test]
fn sums_of_runs_and_constants() {
    assert_eq!(along(&copy("i + i / 16")).contiguity, 16, "within the groups of equal quotients");
    assert_eq!(along(&copy("i + i")).contiguity, 1);
    assert_eq!(along(&copy("i - i / 16 * 16")).contiguity, 16);
}

#[test]
fn rows_of_a_matrix() {
    let row_major =
        "let (r, c) = (arange(32), arange(64)); let i = r.expand(1) * cols + c.expand(0); store(y, i, load(x, i));";
    let i = info(row_major);
    assert_eq!((i.dims[0].contiguity, i.dims[1].contiguity), (1, 64));
    let f = kernel("f32", row_major);
    let a = analyze(&f, Assume::Multiples(Width::Vectors));
    assert_eq!(a.order(&f, indices(&f)[0]), [1, 0]);
    assert_eq!(vector("f32", row_major), (4, false));
    assert_eq!(a.run(&f, indices(&f)[0]), 64);

    let column_major =
        "let (r, c) = (arange(32), arange(64)); let i = r.expand(1) + c.expand(0) * rows; store(y, i, load(x, i));";
    let f = kernel("f32", column_major);
    let a = analyze(&f, Assume::Multiples(Width::Vectors));
    assert_eq!(a.order(&f, indices(&f)[0]), [0, 1]);
    assert_eq!(vector("f32", column_major), (4, false));
    assert_eq!(a.run(&f, indices(&f)[0]), 1);
}

#[test]
fn permuted_indices() {
    let i = info(
        "let (r, c) = (arange(32), arange(64)); let i = trans(r.expand(1) * cols + c.expand(0)); store(y, i, load(x, i));",
    );
    assert_eq!((i.dims[0].contiguity, i.dims[1].contiguity), (64, 1));
}

#[test]
fn masks_are_constant_along_what_they_do_not_depend_on() {
    let f = kernel(
        "f32",
        "let (r, c) = (arange(32), arange(64)); let i = r.expand(1) * cols + c.expand(0); store(y, i, load(x, i).mask(broadcast(r.expand(1), [32, 64]) < rows));",
    );
    let m = analyze(&f, Assume::Multiples(Width::Vectors)).info(&f, masks(&f)[0]);
    assert_eq!((m.dims[0].constancy, m.dims[1].constancy), (1, 64));
}

/// Narrow integers wrap around.
#[test]
fn runs_of_narrow_integers_are_short() {
    assert_eq!(along("let i = arange(1024).to::<u8>().to::<usize>(); store(y, i, load(x, i));").contiguity, 256);
    assert_eq!(along("let i = arange(1024).to::<i8>().to::<usize>(); store(y, i, load(x, i));").contiguity, 128);
    assert_eq!(along("let i = (arange(1024) + 4).to::<u8>().to::<usize>(); store(y, i, load(x, i));").contiguity, 4);
    assert_eq!(along("let i = arange(1024).to::<u32>().to::<usize>(); store(y, i, load(x, i));").contiguity, 1024);
    // If they wrap around, a wider type has no run.
    for (from, by) in [("u8", 2), ("u32", 2), ("i32", 4), ("u32", 8)] {
        let i = format!("let i = (arange(1024).to::<{from}>() - {by}).to::<usize>() + {by}; store(y, i, load(x, i));");
        assert_eq!(along(&i).contiguity, by, "{from} - {by}");
    }
}

/// A run of indices is below a multiple of its length as a whole or not at all.
#[test]
fn masks_of_whole_vectors() {
    let constancy = |types: &str, mask: &str| {
        let body = format!(
            "let i = arange(256); let j = program_id(0) * cols + i; store(y, j, load(x, j)).mask(({mask}) & (rows < n));"
        );
        let f = kernel(types, &body);
        analyze(&f, Assume::Multiples(Width::Vectors)).info(&f, masks(&f)[0]).dims[0].constancy
    };
    for mask in ["i < cols", "cols > i", "i >= cols", "cols <= i", "i < cols + 8", "i + 8 < cols", "255 - i < cols"] {
        assert_eq!((constancy("f32", mask), constancy("f16", mask)), (4, 8), "{mask}");
    }
    // Signed bytes go from 127 to -128.
    assert_eq!(constancy("f32", "i.to::<i8>() < 0"), 128);
    assert_eq!(constancy("f32", "i.to::<u8>() < 128"), 128);
    for mask in ["i <= cols", "i > cols", "i < n", "i < cols + 1", "i + 1 < cols", "i == cols", "i * 2 < cols"] {
        assert_eq!(constancy("f32", mask), 1, "{mask}");
    }
    assert_eq!(constancy("f32", "i < 96"), 32);
    assert_eq!(constancy("f32", "rows < cols"), 256);
    assert_eq!(constancy("f32", "load(x, i) < 1.0"), 1);
}

#[test]
fn loops() {
    let tiled =
        |step: &str| format!("for s in (0..n).step_by({step}) {{ let i = s + arange(256); store(y, i, load(x, i)); }}");
    assert_eq!((along(&tiled("256")).contiguity, along(&tiled("256")).divisibility.divisor()), (256, 256));
    assert_eq!(vector("f32", &tiled("256")), (4, false));
    assert_eq!(vector("f32", &tiled("6")), (2, false));
    assert_eq!(vector("f32", &tiled("cols")), (4, false), "cols is a multiple of 4 here");
    // The same by hand: the variable is gone through until nothing new is learned.
    let variable = |step: &str| {
        format!("let mut s = 0usize; while s < n {{ let i = s + arange(256); store(y, i, load(x, i)); s += {step}; }}")
    };
    assert_eq!(vector("f32", &variable("256")), (4, false));
    assert_eq!(vector("f32", &variable("6")), (2, false));
    assert_eq!(vector("f32", &variable("1")), (1, false));
}

/// A count is taken modulo the width, so a `p << 33` of 32 bits is `p << 1`.
#[test]
fn shifts_by_more_than_there_is() {
    let shifted = |by: u32| {
        vector(
            "f32",
            &format!("let i = ((program_id(0) as u32) << {by}) as usize + arange(256); store(y, i, load(x, i));"),
        )
    };
    assert_eq!(
        [shifted(2), shifted(1), shifted(33)],
        [(4, false), (2, false), (1, false)],
        "of the last nothing is known"
    );
}

#[test]
fn data_is_unknown() {
    assert_eq!(
        vector("f32", "let i = load(idx, arange(256)).to::<usize>(); store(y, i, 0.0);").0,
        4,
        "of the load of the indices"
    );
    let f = kernel("f32", "let i = load(idx, arange(256)).to::<usize>(); store(y, i, 0.0);");
    let a = analyze(&f, Assume::Multiples(Width::Vectors));
    assert_eq!(a.vector(&f, indices(&f)[1], 0, 4), (1, false));
}

#[test]
fn what_the_launcher_checks() {
    // x: argument words 0 and 1; y: 2 and 3; idx: 4 and 5; n: 6; rows: 7; cols: 8.
    let guards = |types: &str, body: &str| analyze(&kernel(types, body), Assume::Multiples(Width::Vectors)).guards;
    let address = |word| Guard::word(word, Test::Multiple(16));
    let f32s = "let i = program_id(0) * 256 + arange(256); store(y, i, load(x, i));";
    assert_eq!(guards("f32", f32s), [address(0), address(2)]);
    let row = "let i = program_id(0) * cols + arange(256); store(y, i, load(x, i)).mask(arange(256) < n);";
    assert_eq!(guards("f32", row), [address(0), address(2), Guard::word(8, Test::Multiple(4))], "n moves no address");
    assert_eq!(guards("f16", row), [address(0), address(2), Guard::word(8, Test::Multiple(8))]);
    assert_eq!(guards("f32", "store(y, n, load(x, cols));"), [], "scalars are never vectors");
    // If a mask divides no vector, the end of an array divides none either.
    let masked = "let i = program_id(0) * cols + arange(256); store(y, i, load(x, i)).mask(arange(256) < cols);";
    let of_y =
        |n: u64| vec![address(0), address(2), Guard::word(3, Test::Multiple(n)), Guard::word(8, Test::Multiple(n))];
    assert_eq!((guards("f32", masked), guards("f16", masked)), (of_y(4), of_y(8)));
    let uniform = "let i = program_id(0) * 256 + arange(256); store(y, i, load(x, i)).mask(program_id(0) < n);";
    assert_eq!(guards("f32", uniform), [address(0), address(2)], "it divides no vector without a guard");
    // Words of 4 bytes ask for less, and make accesses of 4 bytes.
    let f = kernel("f16", row);
    let words = analyze(&f, Assume::Multiples(Width::Words));
    let address = |word| Guard::word(word, Test::Multiple(4));
    assert_eq!(words.guards, [address(0), address(2), Guard::word(8, Test::Multiple(2))]);
    assert_eq!(words.vector(&f, indices(&f)[0], 0, 2), (2, false));
    // No access is wider, for every index, and elements of 4 bytes need no alignment but their own.
    let f = kernel("f32", row);
    let words = analyze(&f, Assume::Multiples(Width::Words));
    assert_eq!(words.guards, [address(0), address(2)]);
    assert_eq!(words.vector(&f, indices(&f)[0], 0, 4), (1, false));
    let f = kernel("f16", "let i = program_id(0) * 256 + arange(256); store(y, i, load(x, i));");
    assert_eq!(analyze(&f, Assume::Multiples(Width::Words)).vector(&f, indices(&f)[0], 0, 2), (2, false));
    assert_eq!(analyze(&f, Assume::Multiples(Width::Vectors)).vector(&f, indices(&f)[0], 0, 2), (8, false));
}

/// Sizes are multiples of as many elements as a vector of each array has.
#[test]
fn what_the_launcher_checks_of_arrays_of_several_types() {
    let f = crate::common::func(
        "#[tile_kernel(tune(warps = [4]), grid = [1])]
         pub fn k(x: &[i8], y: &mut [i32], p: usize, q: usize) {
             let i = arange(256);
             store(y, program_id(0) * q + i, load(x, program_id(0) * p + i).to::<i32>());
         }",
    );
    let of = |assume| analyze(&f, assume).guards;
    let all = |address, p: Option<u64>, q: Option<u64>| -> Vec<Guard> {
        let size = |word, by: Option<u64>| by.map(|by| Guard::word(word, Test::Multiple(by)));
        let addresses = [0, 2].map(|word| Some(Guard::word(word, Test::Multiple(address))));
        addresses.into_iter().chain([size(4, p), size(5, q)]).flatten().collect()
    };
    assert_eq!(of(Assume::Multiples(Width::Vectors)), all(16, Some(16), Some(4)));
    assert_eq!(of(Assume::Multiples(Width::Words)), all(4, Some(4), None));
}

/// The guard of a scalar argument.
fn asked(body: &str, name: &str) -> Option<Test> {
    let f = kernel("f32", body);
    let word = f.params.iter().find(|p| p.name == name).expect("a parameter").first_word;
    analyze(&f, Assume::Multiples(Width::Vectors)).guards.iter().find(|r| r.of.as_word() == Some(word)).map(|r| r.test)
}

#[test]
fn strides_that_are_arguments() {
    let matrix =
        |index: &str| format!("let (r, c) = (arange(32), arange(64)); let i = {index}; store(y, i, load(x, i));");
    // Neighbors in no dimension: the last stride is 1, if any is.
    let strided = matrix("r.expand(1) * rows + c.expand(0) * cols");
    assert_eq!((asked(&strided, "rows"), asked(&strided, "cols")), (Some(Test::Multiple(4)), Some(Test::Equal(1))));
    let i = info(&strided);
    assert_eq!((i.dims[0].contiguity, i.dims[1].contiguity), (1, 64));
    // No guard if it is a stride of rows as well: no access is wider. If rows are neighbors, columns are aligned.
    assert_eq!(asked(&matrix("r.expand(1) * cols + c.expand(0) * cols"), "cols"), None);
    assert_eq!(asked(&matrix("r.expand(1) + c.expand(0) * cols"), "cols"), Some(Test::Multiple(4)));
}

/// A program that goes on to further rows asks for aligned rows, and not for how many it leaves out.
#[test]
fn of_the_factors_of_a_row_its_length_is_asked() {
    let body = "for r in range(program_id(0), rows, n) {
        let i = r * cols + arange(256);
        store(y, i, load(x, i).mask(arange(256) < cols));
    }";
    assert_eq!(asked(body, "cols"), Some(Test::Multiple(4)));
    assert_eq!((asked(body, "rows"), asked(body, "n")), (None, None));
    let body = "let r = program_id(0) / n; store(y, (r * rows + n) * cols + arange(256), 1.0);";
    assert_eq!((asked(body, "cols"), asked(body, "n")), (Some(Test::Multiple(4)), None));
}

#[test]
fn indices_that_wrap_around() {
    let wrapped = copy("i % n");
    assert_eq!(asked(&wrapped, "n"), Some(Test::Multiple(4)));
    assert_eq!(vector("f32", &wrapped), (4, false));
    assert_eq!(vector("f32", &copy("(i + 1) % n")), (1, false));
    // A number that is not known to be positive may be 0, whose remainder is 0.
    let positive = |index: &str| {
        let f = kernel("f32", &copy(index));
        let guards = analyze(&f, Assume::Multiples(Width::Vectors)).guards;
        guards.iter().any(|r| r.test == Test::Within(1, i32::MAX as u64))
    };
    assert!(positive("i % n") && positive("i % (n * 4)") && !positive("i % 12") && !positive("i + n"));
    assert_eq!(vector("f32", &copy("i % (n * 4)")), (4, false));
    assert_eq!(vector("f32", &copy("i % 12")), (4, false));
    assert_eq!(vector("f32", &copy("i % ((i / 2 + 1) * 4)")), (1, false));
    // Of negative numbers the rest counts down to zero.
    assert_eq!(along("let i = (arange(64).to::<i32>() - 32) % 16; store(y, i, load(x, i));").contiguity, 1);
}

#[test]
fn tiles_that_a_loop_moves_along() {
    let moved =
        |by: &str| format!("let mut i = arange(1024); for k in 0..rows {{ store(y, i, load(x, i)); i += {by}; }}");
    assert_eq!(vector("f32", &moved("1024")), (4, false));
    assert_eq!(vector("f32", &moved("1024 * n")), (4, false));
    assert_eq!(vector("f32", &moved("2")), (2, false));
    assert_eq!(vector("f32", &moved("k")), (1, false));
    // They are index arithmetic, of which no variable is left.
    let f = kernel("f32", &moved("1024"));
    assert!(f.vars.iter().enumerate().filter(|(_, v)| !v.ty.is_scalar()).all(|(i, _)| {
        !tilewright_compiler::ir::walk::walk(&f.body)
            .any(|s| matches!(&s.kind, tilewright_compiler::ir::StmtKind::Assign(var, _) if var.0 as usize == i))
    }));
    // The value after the loop is read after it.
    let f = kernel("f32", "let mut i = arange(1024); for k in 0..rows { i += 4; } store(y, i, load(x, i));");
    assert_eq!(analyze(&f, Assume::Multiples(Width::Vectors)).vector(&f, indices(&f)[0], 0, 4), (4, false));
}
