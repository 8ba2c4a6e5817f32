//! Free ports for programs that are about to start.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

/// Currently free ports, below the ephemeral range, so that no outgoing connection takes them meanwhile.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    const RANGE: std::ops::Range<u32> = 10_000..32_000;
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    // Processes side by side begin at different places.
    let begin = std::process::id().wrapping_mul(101).wrapping_add(asked * 10);
    let ports: Vec<u16> = (0..RANGE.end - RANGE.start)
        .map(|step| RANGE.start + begin.wrapping_add(step) % (RANGE.end - RANGE.start))
        .filter_map(|port| u16::try_from(port).ok())
        .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .take(N)
        .collect();
    ports
        .try_into()
        .map_err(|_| anyhow::anyhow!("no ports are free from {} to {}", RANGE.start, RANGE.end))
}
