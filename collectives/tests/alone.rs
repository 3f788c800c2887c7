//! One process without any library.

use tilewright::{Buffer, Runtime, Stream};
use tilewright_collectives::{Error, Reduction, World, runtime};

#[test]
fn outputs_are_inputs() {
    let rt = Runtime::cpu();
    let world = World::alone(&rt);
    let (s, x) = (Stream::new(&rt).unwrap(), Buffer::from_slice(&rt, &[1i64, 2, 3]).unwrap());
    let mut y = rt.zeros::<i64>(3).unwrap();
    world.all_gather(&s, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1, 2, 3]);
    world.reduce_scatter(&s, x.slice(..2).unwrap(), y.slice_mut(1..).unwrap(), Reduction::Average).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1, 1, 2]);
    world.all_to_all(&s, &x, &mut y).unwrap();
    world.broadcast(&s, &mut y, 0).unwrap();
    world.all_reduce(&s, &mut y, Reduction::Product).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1, 2, 3]);
    let mut z = rt.zeros::<i64>(3).unwrap();
    world.send_receive(&s, &y, 0, &mut z, 0).unwrap();
    assert_eq!(z.to_vec().unwrap(), [1, 2, 3]);
    let (own, empty) = (world.split(7).unwrap(), rt.zeros::<f32>(0).unwrap());
    assert_eq!((own.rank(), own.size()), (0, 1));
    own.all_gather(&s, &empty, &mut rt.zeros::<f32>(0).unwrap()).unwrap();
    own.barrier(&s).unwrap();
    own.finish().unwrap();
    world.finish().unwrap();
}

#[test]
fn errors_come_before_anything_is_sent() {
    let rt = Runtime::cpu();
    let world = World::alone(&rt);
    let (s, mut y) = (rt.stream(), [0.0f32; 3]);
    assert!(matches!(world.all_gather(s, &[1.0f32; 2], &mut y), Err(Error::Length { operation: "all_gather", .. })));
    let scattered = world.reduce_scatter(s, &[1.0f32; 2], &mut y, Reduction::Sum);
    assert!(matches!(scattered, Err(Error::Length { operation: "reduce_scatter", .. })));
    assert!(matches!(world.all_to_all(s, &[1.0f32; 2], &mut y), Err(Error::Length { operation: "all_to_all", .. })));
    let own = world.send_receive(s, &[1.0f32; 2], 0, &mut y, 0);
    assert!(matches!(own, Err(Error::Length { operation: "send_receive", .. })));
    assert!(matches!(world.broadcast(s, &mut y, 1), Err(Error::NoRank { rank: 1, size: 1, .. })));
    assert!(matches!(world.send(s, &y, 0), Err(Error::Itself { operation: "send", rank: 0 })));
    assert!(matches!(world.receive(s, &mut y, 3), Err(Error::NoRank { .. })));
    assert!(matches!(world.all_gather(s, &[true], &mut [false]), Err(Error::ElementType { .. })));
    assert!(matches!(world.split(u32::MAX), Err(Error::Color { color: u32::MAX })));
    assert_eq!(y, [0.0; 3]);
}

#[test]
fn shared_memory_is_an_error() {
    let rt = Runtime::cpu();
    let (world, mut x) = (World::alone(&rt), [0.0f32; 4]);
    let at = x.as_mut_ptr();
    // SAFETY: elements of `x`, which is not used meanwhile. Nothing is copied.
    let (from, mut to) = unsafe {
        (
            tilewright::ExternalSlice::from_raw(&rt, at.cast_const(), 3).unwrap(),
            tilewright::ExternalSliceMut::from_raw(&rt, at.add(1), 3).unwrap(),
        )
    };
    let e = world.all_gather(rt.stream(), &from, &mut to).unwrap_err();
    assert_eq!(e.to_string(), "all_gather: the output shares memory with the input: pass other memory");
}

#[test]
fn a_program_runs_without_a_launcher() {
    if ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"].iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let rt = runtime().unwrap();
    let world = World::from_env(&rt).unwrap();
    let mut x = Buffer::from_slice(&rt, &[1.0f32]).unwrap();
    world.all_reduce(rt.stream(), &mut x, Reduction::Sum).unwrap();
    assert_eq!(x.to_vec().unwrap(), [1.0]);
    world.finish().unwrap();
}
