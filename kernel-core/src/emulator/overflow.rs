//! Recognizes the overflow of a fiber's stack: a fault in a guard page is named before the process ends.
//!
//! Lowered code keeps a thread's registers in its stack frame, which grows with the kernel. A fault in a guard page
//! cannot be turned into an error: the code that it interrupts may hold a lock. So the process ends, as Rust's own
//! threads do when their stack overflows, and the message names the kernel and the remedy.

#[cfg(unix)]
pub use unix::Watch;

/// Stacks of this system have no guard page that this module knows.
#[cfg(not(unix))]
pub struct Watch;

#[cfg(not(unix))]
impl Watch {
    pub fn new(_kernel: &'static str, _stack_bytes: usize) -> Self {
        Watch
    }

    pub fn guard(&self, _lowest: usize) {}
}

#[cfg(unix)]
mod unix {
    use std::cell::RefCell;
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// The facts of one launch for the handler. It reads nothing else: thread-local storage may allocate on first use.
    struct Slot {
        taken: AtomicBool,
        /// The guard page of the fiber that runs.
        guard: AtomicUsize,
        name: AtomicPtr<u8>,
        name_len: AtomicUsize,
        stack_bytes: AtomicUsize,
    }

    /// The launches that run at a time. Further launches get no message.
    static SLOTS: [Slot; 128] = [const {
        Slot {
            taken: AtomicBool::new(false),
            guard: AtomicUsize::new(0),
            name: AtomicPtr::new(ptr::null_mut()),
            name_len: AtomicUsize::new(0),
            stack_bytes: AtomicUsize::new(0),
        }
    }; 128];

    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static INSTALL: Once = Once::new();
    /// The previous handlers of the signals.
    static mut BEFORE: [MaybeUninit<libc::sigaction>; 2] = [MaybeUninit::uninit(); 2];
    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// Watches the stacks of one launch.
    pub struct Watch(Option<&'static Slot>);

    impl Watch {
        pub fn new(kernel: &'static str, stack_bytes: usize) -> Self {
            INSTALL.call_once(install);
            // Rust gives its own threads a stack for signals; threads of other languages may have none.
            SIGNAL_STACK.with_borrow_mut(|stack| {
                stack.get_or_insert_with(SignalStack::new);
            });
            let free = |s: &&Slot| s.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            let slot = SLOTS.iter().find(free);
            if let Some(s) = slot {
                s.name.store(kernel.as_ptr().cast_mut(), Ordering::Relaxed);
                s.name_len.store(kernel.len(), Ordering::Relaxed);
                s.stack_bytes.store(stack_bytes, Ordering::Relaxed);
            }
            Watch(slot)
        }

        /// The fiber that runs next has a stack whose lowest page, at this address, is its guard.
        #[inline]
        pub fn guard(&self, lowest: usize) {
            if let Some(slot) = self.0 {
                slot.guard.store(lowest, Ordering::Release);
            }
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            if let Some(slot) = self.0 {
                slot.guard.store(0, Ordering::Release);
                slot.taken.store(false, Ordering::Release);
            }
        }
    }

    thread_local! {
        static SIGNAL_STACK: RefCell<Option<SignalStack>> = const { RefCell::new(None) };
    }

    /// This thread's stack for signals, where it had none: the stack that has overflowed cannot run the handler.
    struct SignalStack(Option<Box<[u8]>>);

    impl SignalStack {
        fn new() -> Self {
            const BYTES: usize = 64 << 10;
            let mut now = MaybeUninit::<libc::stack_t>::uninit();
            // SAFETY: the call writes the current setting there, and changes nothing.
            let has_one = unsafe {
                libc::sigaltstack(ptr::null(), now.as_mut_ptr()) == 0
                    && now.assume_init().ss_flags & libc::SS_DISABLE == 0
            };
            if has_one {
                return SignalStack(None);
            }
            let mut memory = vec![0u8; BYTES].into_boxed_slice();
            let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
            // SAFETY: the memory lives until `drop` takes it away again.
            let set = unsafe { libc::sigaltstack(&stack, ptr::null_mut()) } == 0;
            SignalStack(set.then_some(memory))
        }
    }

    impl Drop for SignalStack {
        fn drop(&mut self) {
            if self.0.is_some() {
                let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
                // SAFETY: the thread ends, and is not in a handler.
                unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
            }
        }
    }

    fn install() {
        // SAFETY: a query.
        PAGE.store(unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize, Ordering::Relaxed);
        for (i, signal) in SIGNALS.into_iter().enumerate() {
            // SAFETY: the handler is async-signal-safe; `BEFORE` is written here alone, once, before the handler that
            // reads it is in place.
            unsafe {
                let before = (&raw mut BEFORE[i]).cast::<libc::sigaction>();
                if libc::sigaction(signal, ptr::null(), before) == 0 {
                    let mut ours: libc::sigaction = std::mem::zeroed();
                    ours.sa_sigaction = handle as *const () as usize;
                    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigemptyset(&mut ours.sa_mask);
                    libc::sigaction(signal, &ours, ptr::null_mut());
                }
            }
        }
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system gives the information of the signal.
        let address = unsafe { (*info).si_addr() } as usize;
        let page = PAGE.load(Ordering::Relaxed);
        let of = |s: &&Slot| {
            let guard = s.guard.load(Ordering::Acquire);
            guard != 0 && address.wrapping_sub(guard) < page
        };
        match SLOTS.iter().find(of) {
            Some(slot) => overflowed(slot),
            None => pass_on(signal, info, context),
        }
    }

    fn overflowed(slot: &Slot) -> ! {
        let (name, len) = (slot.name.load(Ordering::Relaxed), slot.name_len.load(Ordering::Relaxed));
        // SAFETY: of a `&'static str`.
        let name = unsafe { std::slice::from_raw_parts(name, len) };
        let mut digits = [0; 20];
        let bytes = decimal(slot.stack_bytes.load(Ordering::Relaxed), &mut digits);
        for text in [
            b"\nkernel `".as_slice(),
            name,
            b"`: a thread of the emulated SM has overflowed its stack of ",
            bytes,
            b" bytes, where it keeps its registers. Use smaller tiles or unroll less, build with optimizations, or set \
              tilewright_core::emulator::Options::stack_bytes.\n",
        ] {
            // SAFETY: bytes of a slice. Nothing can be done about an error.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }
        // SAFETY: always.
        unsafe { libc::abort() }
    }

    fn decimal(mut n: usize, digits: &mut [u8; 20]) -> &[u8] {
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                return &digits[at..];
            }
        }
    }

    /// A fault elsewhere goes to the previous handler.
    fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let which = usize::from(signal == libc::SIGBUS);
        // SAFETY: written by `install` before this handler was in place, and never again. A handler is called as it was
        // registered; the default one by letting the fault happen again.
        unsafe {
            let before = (&raw const BEFORE[which]).cast::<libc::sigaction>();
            match (*before).sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::sigaction(signal, before, ptr::null_mut());
                }
                f if (*before).sa_flags & libc::SA_SIGINFO != 0 => {
                    let f: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(f);
                    f(signal, info, context);
                }
                f => {
                    let f: extern "C" fn(c_int) = std::mem::transmute(f);
                    f(signal);
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::decimal;

        #[test]
        fn numbers_are_written_out() {
            let mut digits = [0; 20];
            assert_eq!(decimal(0, &mut digits), b"0");
            assert_eq!(decimal(usize::MAX, &mut digits), usize::MAX.to_string().as_bytes());
        }
    }
}
