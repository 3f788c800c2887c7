//! Several devices of one driver. Each has a primary context, and its streams, memory, pools and functions are its own:
//! work of one device on memory of another needs peer access, which the model does not have.

use crate::Code;
use crate::report::Kind;
use crate::state::{State, Task, Work};
use std::collections::BTreeMap;

pub(crate) struct Devices {
    /// The primary context of each, and how often it is retained.
    all: Vec<(usize, usize)>,
    /// The devices of contexts other than those of device 0.
    of_contexts: BTreeMap<usize, usize>,
}

impl Devices {
    pub fn new(primary: usize) -> Devices {
        Devices { all: vec![(primary, 0)], of_contexts: BTreeMap::new() }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn primary(&self, device: usize) -> Option<usize> {
        self.all.get(device).map(|d| d.0)
    }

    /// How often primary contexts are retained.
    pub fn retained(&self) -> usize {
        self.all.iter().map(|d| d.1).sum()
    }

    pub fn of_context(&self, context: usize) -> usize {
        self.of_contexts.get(&context).copied().unwrap_or(0)
    }
}

impl State {
    pub fn add_device(&mut self) {
        let primary = self.handle();
        self.devices.of_contexts.insert(primary, self.devices.all.len());
        self.devices.all.push((primary, 0));
        self.number_context(primary);
        self.new_default_stream(primary);
    }

    /// A number that is no device gives 101.
    pub fn device(&self, number: i32) -> Result<usize, Code> {
        usize::try_from(number).ok().filter(|d| *d < self.devices.count()).ok_or(101)
    }

    pub fn current_device(&self) -> usize {
        self.devices.of_context(self.current_context())
    }

    pub fn new_context_on(&mut self, device: usize) -> usize {
        let context = self.handle();
        if device > 0 {
            self.devices.of_contexts.insert(context, device);
        }
        self.number_context(context);
        self.me().context = context;
        self.new_default_stream(context);
        context
    }

    pub fn retain_primary(&mut self, device: usize) -> usize {
        self.devices.all[device].1 += 1;
        let primary = self.devices.all[device].0;
        if !self.contexts.contains_key(&primary) {
            self.number_context(primary);
        }
        primary
    }

    pub fn release_primary(&mut self, device: usize) -> Result<(), Code> {
        let retained = &mut self.devices.all[device].1;
        *retained = retained.checked_sub(1).ok_or(201u32)?;
        if *retained == 0 {
            self.report_leaks(device);
        }
        Ok(())
    }

    fn device_of_stream(&self, handle: usize) -> usize {
        self.streams.get(&handle).map_or(0, |s| self.devices.of_context(s.context))
    }

    /// The device of an event or of an instantiated graph.
    pub fn device_made_on(&self, handle: usize) -> usize {
        self.made_in.get(&handle).map_or(0, |context| self.devices.of_context(*context))
    }

    /// Reports work that uses memory of another device than its stream's.
    pub fn check_memory(&mut self, handle: usize, task: &Task) {
        let device = self.device_of_stream(handle);
        let mut starts: Vec<u64> = task.accesses.iter().filter(|a| a.start < a.end).map(|a| a.start).collect();
        if let Work::Free { base } = task.work {
            starts.push(base);
        }
        for start in starts {
            if let Some(of) = self.block_at(start).map(|b| b.device).filter(|of| *of != device) {
                let text = format!("{}: on device {device}, with memory of device {of}", task.what);
                self.report(Kind::Memory, text);
            }
        }
    }

    /// `400` for a pool of another device than the stream's.
    pub fn check_pool(&mut self, pool: usize, handle: usize) -> Result<(), Code> {
        let of = *self.pools.get(&pool).ok_or(400u32)?;
        self.same_device("cuMemAllocFromPoolAsync", "a pool", of, self.device_of_stream(handle))
    }

    /// `400` for a stream of another device than the current context's, or than the event's.
    pub fn check_event(&mut self, event: usize, handle: usize) -> Result<(), Code> {
        self.same_device("cuEventRecord", "an event", self.device_made_on(event), self.device_of_stream(handle))
    }

    /// The function of a kernel in the current context. Handles are multiples of 16.
    pub fn function_here(&self, kernel: usize) -> usize {
        kernel + self.current_device()
    }

    /// The kernel of a function. `400` on another device than the function's.
    pub fn kernel_of(&mut self, function: usize, handle: usize) -> Result<usize, Code> {
        let on = self.device_of_stream(handle);
        self.same_device("cuLaunchKernel", "a function", function % 16, on)?;
        self.same_device("cuLaunchKernel", "a context", self.current_device(), on)?;
        Ok(function - function % 16)
    }

    fn same_device(&mut self, call: &str, what: &str, of: usize, on: usize) -> Result<(), Code> {
        if of == on {
            return Ok(());
        }
        self.report(Kind::Call, format!("{call}: {what} of device {of} on a stream of device {on}"));
        Err(400)
    }
}
