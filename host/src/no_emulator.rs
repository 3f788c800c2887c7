//! In the place of `emulate`, in builds without the feature `emulator`: there are no options, so nothing is launched.

use crate::emulator_options::Options;
use crate::error::Result;
use crate::stream::Stream;
use tilewright_core::{Call, ConfigDesc, KernelDesc, VariantDesc};

pub(crate) fn check_grid(_: &KernelDesc, _: &ConfigDesc, _: [u64; 3], options: &Options) -> Result<()> {
    match *options {}
}

pub(crate) fn launch(
    _: &Stream,
    _: &Call,
    _: &'static ConfigDesc,
    _: &'static VariantDesc,
    _: [u64; 3],
    options: &Options,
) -> Result<()> {
    match *options {}
}
