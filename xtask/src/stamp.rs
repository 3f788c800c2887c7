//! The time of the last installation of a part of the toolchain.

use std::time::SystemTime;

use anyhow::Result;
use tilewright_build::cache::Cache;

/// Tells builds that they have to look again.
pub fn installed(cache: &Cache) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    cache.stamp_toolchain(&format!("{now}\n"))?;
    Ok(())
}
