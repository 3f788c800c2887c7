//! Rows of a table by index, rotary position embeddings, and their gradients.

use crate::at::At;
use crate::dtype::by_float;
use crate::guard::{Result, enter};
use crate::handle::tile_handle_t;
use crate::handle_operations::enter_at;
use crate::memory::{Array, area, flag, long, operand, optional, volume};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_ops::{self as ops, Embed, Rope};

/// The extents of a table and of the rows that are looked up.
#[derive(Clone, Copy)]
struct Lookup {
    table: usize,
    cols: usize,
    ids: usize,
    results: usize,
}

impl Lookup {
    fn new(tokens: c_longlong, rows: c_longlong, cols: c_longlong) -> Result<Lookup> {
        let (tokens, rows, cols) = (long("tokens", tokens)?, long("rows", rows)?, long("cols", cols)?);
        let results = area(tokens, cols)?;
        Ok(Lookup { table: operand(&[rows, cols], results)?, cols, ids: operand(&[tokens], results)?, results })
    }
}

/// y[t] = table[ids[t]] for every token: rows of a rows x cols table of dtype 0 (f32), 1 (f16), 2 (bf16). A negative
/// index gives zeros, and one that is no row gives NaN.
///
/// # Safety
/// table addresses rows * cols elements of the dtype, ids addresses tokens elements, y addresses tokens * cols
/// elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_embedding(
    dtype: c_int,
    table: *const c_void,
    ids: *const c_int,
    y: *mut c_void,
    tokens: c_longlong,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { embedding(At::Thread, dtype, table, ids, y, Lookup::new(tokens, rows, cols)?) })
}

/// As tile_embedding, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_embedding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_embedding(
    handle: tile_handle_t,
    dtype: c_int,
    table: *const c_void,
    ids: *const c_int,
    y: *mut c_void,
    tokens: c_longlong,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| embedding(at, dtype, table, ids, y, Lookup::new(tokens, rows, cols)?)) }
}

/// d_table[ids[t]] += dy[t] for every token: adds the gradient of tile_embedding, where dy is that of y, of dtype 0
/// (f32), 1 (f16), 2 (bf16), to that of a rows x cols table. Indices that are no rows are left out. Rows with the same
/// index are added in an order that may change from call to call.
///
/// # Safety
/// ids addresses tokens elements, dy addresses tokens * cols elements of the dtype, d_table addresses rows * cols
/// floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_embedding_backward(
    dtype: c_int,
    ids: *const c_int,
    dy: *const c_void,
    d_table: *mut c_float,
    tokens: c_longlong,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { embedding_gradient(At::Thread, dtype, ids, dy, d_table, Lookup::new(tokens, rows, cols)?) })
}

/// As tile_embedding_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_embedding_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_embedding_backward(
    handle: tile_handle_t,
    dtype: c_int,
    ids: *const c_int,
    dy: *const c_void,
    d_table: *mut c_float,
    tokens: c_longlong,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| embedding_gradient(at, dtype, ids, dy, d_table, Lookup::new(tokens, rows, cols)?)) }
}

/// # Safety
/// As of [`tile_embedding`].
unsafe fn embedding(
    at: At<'_>,
    dtype: c_int,
    table: *const c_void,
    ids: *const c_int,
    y: *mut c_void,
    of: Lookup,
) -> Result<()> {
    /// # Safety
    /// As of the function around it.
    unsafe fn of_type<T: Embed>(at: At<'_>, table: *const T, ids: *const c_int, y: *mut T, of: Lookup) -> Result<()> {
        // SAFETY: the caller's contract.
        let (table, ids) = unsafe { (Array::new("table", table, of.table)?, Array::new("ids", ids, of.ids)?) };
        // SAFETY: as above.
        let y = unsafe { Array::new("y", y.cast_const(), of.results)? };
        y.apart(&table)?;
        y.apart(&ids)?;
        at.run(of.results, |on, device| {
            ops::embedding(on, table.input(device), ids.input(device), y.output(device), of.cols)
        })
    }
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { of_type::<T>(at, table.cast(), ids, y.cast(), of) })
}

/// # Safety
/// As of [`tile_embedding_backward`].
unsafe fn embedding_gradient(
    at: At<'_>,
    dtype: c_int,
    ids: *const c_int,
    dy: *const c_void,
    d_table: *mut c_float,
    of: Lookup,
) -> Result<()> {
    /// # Safety
    /// As of the function around it.
    unsafe fn of_type<T: Embed>(
        at: At<'_>,
        ids: *const c_int,
        dy: *const T,
        d_table: *mut c_float,
        of: Lookup,
    ) -> Result<()> {
        // SAFETY: the caller's contract.
        let (ids, dy) = unsafe { (Array::new("ids", ids, of.ids)?, Array::new("dy", dy, of.results)?) };
        // SAFETY: as above.
        let d_table = unsafe { Array::new("d_table", d_table.cast_const(), of.table)? };
        d_table.apart(&ids)?;
        d_table.apart(&dy)?;
        at.run(of.results, |on, device| {
            ops::embedding_backward(on, ids.input(device), dy.input(device), d_table.output(device), of.cols)
        })
    }
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { of_type::<T>(at, ids, dy.cast(), d_table, of) })
}

/// The extents of heads that rotate, and of the tables of angles.
#[derive(Clone, Copy)]
struct Rotation {
    tokens: usize,
    heads: usize,
    cols: usize,
    half: usize,
    table: usize,
    elements: usize,
    interleaved: bool,
}

impl Rotation {
    fn new([tokens, heads, cols, half, rows]: [c_longlong; 5], interleaved: c_int) -> Result<Rotation> {
        let (tokens, heads, cols) = (long("tokens", tokens)?, long("heads", heads)?, long("cols", cols)?);
        let (half, rows) = (long("half", half)?, long("rows", rows)?);
        let elements = volume(&[tokens, heads, cols])?;
        let table = operand(&[rows, half], elements)?;
        Ok(Rotation { tokens, heads, cols, half, table, elements, interleaved: flag("interleaved", interleaved)? })
    }
}

/// Pairs (a, b) of elements of every head of a tokens x heads x cols array rotate to (a cos - b sin, b cos + a sin),
/// for dtype 0 (f32), 1 (f16), 2 (bf16). The pairs are elements i and half + i, or 2 i and 2 i + 1 where interleaved
/// is 1. Elements from 2 * half on are copied. The angles are a row of cosines and sines, rows x half each: that of the
/// token's position, or t % rows where positions is null. A position that is no row gives NaN. y may be x.
///
/// # Safety
/// x and y address tokens * heads * cols elements of the dtype, cosines and sines address rows * half floats, positions
/// addresses tokens elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_rope(
    dtype: c_int,
    x: *const c_void,
    cosines: *const c_float,
    sines: *const c_float,
    positions: *const c_int,
    y: *mut c_void,
    tokens: c_longlong,
    heads: c_longlong,
    cols: c_longlong,
    half: c_longlong,
    rows: c_longlong,
    interleaved: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        rotate(
            At::Thread,
            dtype,
            x,
            cosines,
            sines,
            positions,
            y,
            Rotation::new([tokens, heads, cols, half, rows], interleaved)?,
            false,
        )
    })
}

/// As tile_rope, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_rope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_rope(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    cosines: *const c_float,
    sines: *const c_float,
    positions: *const c_int,
    y: *mut c_void,
    tokens: c_longlong,
    heads: c_longlong,
    cols: c_longlong,
    half: c_longlong,
    rows: c_longlong,
    interleaved: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        enter_at(handle, |at| {
            rotate(
                at,
                dtype,
                x,
                cosines,
                sines,
                positions,
                y,
                Rotation::new([tokens, heads, cols, half, rows], interleaved)?,
                false,
            )
        })
    }
}

/// The gradient dx of x of tile_rope, where dy is that of y: rotates back. dx may be dy.
///
/// # Safety
/// As of tile_rope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_rope_backward(
    dtype: c_int,
    dy: *const c_void,
    cosines: *const c_float,
    sines: *const c_float,
    positions: *const c_int,
    dx: *mut c_void,
    tokens: c_longlong,
    heads: c_longlong,
    cols: c_longlong,
    half: c_longlong,
    rows: c_longlong,
    interleaved: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        rotate(
            At::Thread,
            dtype,
            dy,
            cosines,
            sines,
            positions,
            dx,
            Rotation::new([tokens, heads, cols, half, rows], interleaved)?,
            true,
        )
    })
}

/// As tile_rope_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_rope_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_rope_backward(
    handle: tile_handle_t,
    dtype: c_int,
    dy: *const c_void,
    cosines: *const c_float,
    sines: *const c_float,
    positions: *const c_int,
    dx: *mut c_void,
    tokens: c_longlong,
    heads: c_longlong,
    cols: c_longlong,
    half: c_longlong,
    rows: c_longlong,
    interleaved: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        enter_at(handle, |at| {
            rotate(
                at,
                dtype,
                dy,
                cosines,
                sines,
                positions,
                dx,
                Rotation::new([tokens, heads, cols, half, rows], interleaved)?,
                true,
            )
        })
    }
}

/// # Safety
/// As of [`tile_rope`].
unsafe fn rotate(
    at: At<'_>,
    dtype: c_int,
    x: *const c_void,
    cosines: *const c_float,
    sines: *const c_float,
    positions: *const c_int,
    y: *mut c_void,
    of: Rotation,
    back: bool,
) -> Result<()> {
    /// # Safety
    /// As of the function around it.
    unsafe fn of_type<T: Embed>(
        at: At<'_>,
        x: *const T,
        [cosines, sines]: [*const c_float; 2],
        positions: *const c_int,
        y: *mut T,
        of: Rotation,
        back: bool,
    ) -> Result<()> {
        let tokens = operand(&[of.tokens], of.elements)?;
        // SAFETY: the caller's contract.
        let (x, y) = unsafe { (Array::new("x", x, of.elements)?, Array::new("y", y.cast_const(), of.elements)?) };
        // SAFETY: as above.
        let cosines = unsafe { Array::new("cosines", cosines, of.table)? };
        // SAFETY: as above.
        let sines = unsafe { Array::new("sines", sines, of.table)? };
        // SAFETY: as above.
        let positions = unsafe { optional("positions", positions, tokens)? };
        y.apart_or_same(&x)?;
        y.apart(&cosines)?;
        y.apart(&sines)?;
        y.apart(&positions)?;
        at.run(of.elements, |on, device| {
            let rope = Rope::new(cosines.input(device), sines.input(device), of.half);
            let rope = rope.positions(positions.input(device)).interleaved(of.interleaved);
            let (x, y) = (x.input(device), y.output(device));
            if back {
                rope.launch_backward(on, x, y, of.heads, of.cols)
            } else {
                rope.launch(on, x, y, of.heads, of.cols)
            }
        })
    }
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { of_type::<T>(at, x.cast(), [cosines, sines], positions, y.cast(), of, back) })
}
