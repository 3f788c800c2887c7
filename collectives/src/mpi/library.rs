//! The functions and handles of an MPI library, which is loaded at run time.
//!
//! There are two binary interfaces: handles of Open MPI are addresses of its variables, those of MPICH and of libraries
//! that are compatible with it, as Intel's, are numbers.

use crate::error::of_loader;
use core::ffi::{c_char, c_int, c_void};
use core::fmt::Debug;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The differences between binary interfaces.
pub(crate) trait Abi: Debug + Send + Sync + 'static {
    type Handle: Copy + Debug + Send + Sync + 'static;
    /// `MPI_IN_PLACE`.
    const IN_PLACE: *const c_void;

    /// Errors: the name of a handle that the library lacks.
    fn handles(library: &Library) -> Result<Handles<Self::Handle>, String>;
}

/// The handles that are used here.
#[derive(Debug)]
pub(crate) struct Handles<H> {
    pub world: H,
    pub errors_return: H,
    pub sum: H,
    pub product: H,
    pub min: H,
    pub max: H,
    pub f32: H,
    pub f64: H,
    /// Signed numbers of 1, 2, 4 and 8 bytes.
    pub signed: [H; 4],
    pub unsigned: [H; 4],
}

/// The address of a variable of Open MPI.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Address(*mut c_void);
// SAFETY: only the library follows the address, and its functions may be called from any thread.
unsafe impl Send for Address {}
// SAFETY: as above; a shared address is copied.
unsafe impl Sync for Address {}

#[derive(Debug)]
pub(crate) struct OpenMpi;

impl Abi for OpenMpi {
    type Handle = Address;
    const IN_PLACE: *const c_void = core::ptr::without_provenance(1);

    fn handles(library: &Library) -> Result<Handles<Address>, String> {
        let of = |name: &str| {
            let symbol = format!("ompi_mpi_{name}\0");
            // SAFETY: a variable, whose address alone is taken.
            let found = unsafe { library.get::<*mut c_void>(symbol.as_bytes()) };
            found.map(|s| Address(s.as_raw_ptr())).map_err(|_| format!("it lacks ompi_mpi_{name}"))
        };
        Ok(Handles {
            world: of("comm_world")?,
            errors_return: of("errors_return")?,
            sum: of("op_sum")?,
            product: of("op_prod")?,
            min: of("op_min")?,
            max: of("op_max")?,
            f32: of("float")?,
            f64: of("double")?,
            signed: [of("int8_t")?, of("int16_t")?, of("int32_t")?, of("int64_t")?],
            unsigned: [of("uint8_t")?, of("uint16_t")?, of("uint32_t")?, of("uint64_t")?],
        })
    }
}

#[derive(Debug)]
pub(crate) struct Mpich;

impl Abi for Mpich {
    type Handle = c_int;
    const IN_PLACE: *const c_void = core::ptr::without_provenance(usize::MAX);

    /// The numbers of MPICH's `mpi.h`, which the MPICH ABI compatibility initiative has fixed.
    fn handles(_: &Library) -> Result<Handles<c_int>, String> {
        Ok(Handles {
            world: 0x4400_0000,
            errors_return: 0x5400_0001,
            sum: 0x5800_0003,
            product: 0x5800_0004,
            min: 0x5800_0002,
            max: 0x5800_0001,
            f32: 0x4c00_040a,
            f64: 0x4c00_080b,
            signed: [0x4c00_0137, 0x4c00_0238, 0x4c00_0439, 0x4c00_083a],
            unsigned: [0x4c00_013b, 0x4c00_023c, 0x4c00_043d, 0x4c00_083e],
        })
    }
}

/// Room for an `MPI_Status`, which has 24 bytes at most.
#[repr(C, align(16))]
pub(crate) struct Status(pub [u8; 64]);

/// A function that combines elements: `inout[i] = in[i] op inout[i]`.
pub(crate) type Combine<H> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut H);

macro_rules! functions { ($($field:ident = $name:ident($($arg:ty),*);)*) => {
    /// The functions that are used here, as in `mpi.h`.
    #[derive(Debug)]
    pub(crate) struct Functions<H> {
        $(pub $field: unsafe extern "C" fn($($arg),*) -> c_int,)*
        /// Keeps the functions.
        _library: Library,
    }

    impl<H: 'static> Functions<H> {
        /// Errors: the name of a function that the library lacks.
        ///
        /// # Safety
        /// The library is one of MPI, whose handles are as `H` says.
        pub unsafe fn of(library: Library) -> Result<Functions<H>, String> {
            Ok(Functions {
                $($field: {
                    // SAFETY: the function has this signature in the MPI standard, with handles of `H`.
                    let found = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                    *found.map_err(|_| concat!("it lacks ", stringify!($name)).to_string())?
                },)*
                _library: library,
            })
        }
    }
} }

functions! {
    init_thread = MPI_Init_thread(*mut c_int, *mut c_void, c_int, *mut c_int);
    initialized = MPI_Initialized(*mut c_int);
    finalized = MPI_Finalized(*mut c_int);
    query_thread = MPI_Query_thread(*mut c_int);
    finalize = MPI_Finalize();
    library_version = MPI_Get_library_version(*mut c_char, *mut c_int);
    error_string = MPI_Error_string(c_int, *mut c_char, *mut c_int);
    comm_rank = MPI_Comm_rank(H, *mut c_int);
    comm_size = MPI_Comm_size(H, *mut c_int);
    comm_dup = MPI_Comm_dup(H, *mut H);
    comm_split = MPI_Comm_split(H, c_int, c_int, *mut H);
    set_error_handler = MPI_Comm_set_errhandler(H, H);
    op_create = MPI_Op_create(Combine<H>, c_int, *mut H);
    all_reduce = MPI_Allreduce(*const c_void, *mut c_void, c_int, H, H, H);
    reduce_scatter_block = MPI_Reduce_scatter_block(*const c_void, *mut c_void, c_int, H, H, H);
    broadcast = MPI_Bcast(*mut c_void, c_int, H, c_int, H);
    all_gather = MPI_Allgather(*const c_void, c_int, H, *mut c_void, c_int, H, H);
    all_to_all = MPI_Alltoall(*const c_void, c_int, H, *mut c_void, c_int, H, H);
    send = MPI_Send(*const c_void, c_int, H, c_int, c_int, H);
    receive = MPI_Recv(*mut c_void, c_int, H, c_int, c_int, H, *mut Status);
    send_receive = MPI_Sendrecv(
        *const c_void, c_int, H, c_int, c_int, *mut c_void, c_int, H, c_int, c_int, H, *mut Status
    );
    get_count = MPI_Get_count(*const Status, H, *mut c_int);
    barrier = MPI_Barrier(H);
}

/// File names of MPI libraries. The launcher's own library comes first.
fn names(is_of_mpich: bool) -> [&'static str; 4] {
    let (open_mpi, mpich) = ("libmpi.so.40", ["libmpi.so.12", "libmpich.so.12"]);
    match is_of_mpich {
        false => [open_mpi, mpich[0], mpich[1], "libmpi.so"],
        true => [mpich[0], mpich[1], open_mpi, "libmpi.so"],
    }
}

/// The library that `TILE_MPI` names, else that of the launcher, else any. Errors: the loader's message.
pub(crate) fn load() -> Result<Library, String> {
    let named = std::env::var_os("TILE_MPI").filter(|v| !v.is_empty());
    let is_of_mpich = std::env::var_os("PMI_RANK").is_some() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none();
    let candidates = match named {
        Some(file) => vec![file],
        None => names(is_of_mpich).map(Into::into).to_vec(),
    };
    let mut why = Vec::new();
    for file in candidates {
        // Plugins of Open MPI look for its functions among those of the whole process. The library is never unloaded:
        // once it is initialized, its threads and exit handlers run until the process ends.
        // SAFETY: initializers of a library that the user or the system has installed.
        match unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL | libc::RTLD_NODELETE) } {
            Ok(library) => return Ok(library),
            Err(e) => why.push(of_loader(&e)),
        }
    }
    // The loader says the same of each name.
    Err(why.swap_remove(0))
}

/// Whether handles are those of Open MPI.
pub(crate) fn is_open_mpi(library: &Library) -> bool {
    // SAFETY: a variable, which is not read.
    unsafe { library.get::<*mut c_void>(b"ompi_mpi_comm_world\0") }.is_ok()
}
