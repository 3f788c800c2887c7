//! Rank 0 hands bytes to all other ranks: the id by which the ranks of NCCL find each other.
//!
//! Rank 0 listens at the launcher's address, or at the first free port behind it. The others try the same ports until
//! one answers as rank 0 of the same run does.

use crate::error::{Error, Result};
use crate::launcher::Meeting;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first bytes of a greeting.
const MAGIC: [u8; 8] = *b"tilewcl1";
/// A greeting: the magic, a hash of the run, the number of ranks, the sender's rank.
const GREETING: usize = 8 + 8 + 4 + 4;
/// Ports that are tried.
const PORTS: u16 = 16;
/// How long ranks wait for each other. Machines may start minutes apart.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a peer may take for a few bytes.
const BYTES: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The bytes of rank 0, on every rank. Returns when this rank has them; on rank 0, when all ranks have. Errors:
/// [`Error::Rendezvous`].
pub(crate) fn hand_out(meeting: &Meeting, rank: usize, size: usize, bytes: &mut [u8]) -> Result<()> {
    hand_out_within(meeting, rank, size, bytes, PATIENCE)
}

fn hand_out_within(meeting: &Meeting, rank: usize, size: usize, bytes: &mut [u8], patience: Duration) -> Result<()> {
    let end = Instant::now() + patience;
    let done = match rank {
        0 => give(meeting, size, bytes, end),
        _ => take(meeting, rank, size, bytes, end),
    };
    let address = format!("{}:{}", meeting.host, meeting.port);
    done.map_err(|why| Error::Rendezvous { rank, size, address, why })
}

/// The ports that are tried, in this order.
fn ports(meeting: &Meeting) -> impl Iterator<Item = u16> {
    // Wraps around within the ports that need no rights.
    let behind = |port: u16, i: u16| if port > u16::MAX - i { 1024 + i } else { port + i };
    let (port, first) = (meeting.port, u16::from(meeting.is_taken));
    (first..first + PORTS).map(move |i| behind(port, i))
}

fn greeting(meeting: &Meeting, size: usize, rank: usize) -> [u8; GREETING] {
    let mut out = [0; GREETING];
    out[..8].copy_from_slice(&MAGIC);
    out[8..16].copy_from_slice(&hash(&meeting.run).to_le_bytes());
    out[16..20].copy_from_slice(&(size as u32).to_le_bytes());
    out[20..].copy_from_slice(&(rank as u32).to_le_bytes());
    out
}

/// FNV-1a: runs that meet at one address by mistake are told apart.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The rank that a greeting of the same run names.
fn sender(greeting: [u8; GREETING], own: &[u8; GREETING]) -> Option<usize> {
    let rank: [u8; 4] = greeting[20..].try_into().ok()?;
    (greeting[..20] == own[..20]).then_some(u32::from_le_bytes(rank) as usize)
}

fn listen(meeting: &Meeting) -> Result<TcpListener, String> {
    let mut failed = String::new();
    for port in ports(meeting) {
        // The name may be that of an address in front of this machine, as in a container.
        for host in [meeting.host.as_str(), "0.0.0.0"] {
            match TcpListener::bind((host, port)) {
                Ok(listener) => return Ok(listener),
                Err(e) if e.kind() == ErrorKind::AddrInUse => {
                    failed = e.to_string();
                    break;
                }
                Err(e) => failed = e.to_string(),
            }
        }
    }
    Err(format!("no port of {PORTS} can be listened on: {failed}. Pass another --master-port"))
}

fn give(meeting: &Meeting, size: usize, bytes: &[u8], end: Instant) -> Result<(), String> {
    let listener = listen(meeting)?;
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    let own = greeting(meeting, size, 0);
    let mut waits: BTreeSet<usize> = (1..size).collect();
    while !waits.is_empty() {
        match listener.accept() {
            Ok((mut peer, _)) => {
                let served = serve(&mut peer, &own, bytes);
                // Others knock at ports, too, and a rank that has lost its connection comes again.
                if let Ok(Some(rank)) = served {
                    waits.remove(&rank);
                }
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => sleep(PAUSE),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e.to_string()),
        }
        if Instant::now() > end && !waits.is_empty() {
            let missing: Vec<String> = waits.iter().take(8).map(usize::to_string).collect();
            return Err(format!("ranks did not come in time: {}", missing.join(", ")));
        }
    }
    Ok(())
}

/// The rank that has the bytes now; none for a connection of others.
fn serve(peer: &mut TcpStream, own: &[u8; GREETING], bytes: &[u8]) -> io::Result<Option<usize>> {
    peer.set_nonblocking(false)?;
    peer.set_read_timeout(Some(BYTES))?;
    peer.set_write_timeout(Some(BYTES))?;
    let mut theirs = [0; GREETING];
    peer.read_exact(&mut theirs)?;
    let Some(rank) = sender(theirs, own) else { return Ok(None) };
    peer.write_all(own)?;
    peer.write_all(bytes)?;
    let mut taken = [0];
    peer.read_exact(&mut taken)?;
    Ok(Some(rank))
}

fn take(meeting: &Meeting, rank: usize, size: usize, bytes: &mut [u8], end: Instant) -> Result<(), String> {
    let own = greeting(meeting, size, rank);
    let mut last = String::from("nobody listens");
    loop {
        for port in ports(meeting) {
            match ask(&meeting.host, port, &own, bytes) {
                Ok(true) => return Ok(()),
                Ok(false) => last = format!("port {port} is not of this run"),
                // As long as rank 0 has not come, its port refuses.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => {}
                Err(e) => last = format!("port {port}: {e}"),
            }
            if Instant::now() > end {
                return Err(format!("rank 0 did not come in time: {last}"));
            }
        }
        sleep(PAUSE);
    }
}

/// Whether rank 0 of this run listens there, and has given the bytes.
fn ask(host: &str, port: u16, own: &[u8; GREETING], bytes: &mut [u8]) -> io::Result<bool> {
    let mut failed = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        let mut peer = match TcpStream::connect_timeout(&address, BYTES) {
            Ok(peer) => peer,
            Err(e) => {
                failed = e;
                continue;
            }
        };
        peer.set_read_timeout(Some(BYTES))?;
        peer.set_write_timeout(Some(BYTES))?;
        peer.write_all(own)?;
        let mut theirs = [0; GREETING];
        peer.read_exact(&mut theirs)?;
        if sender(theirs, own) != Some(0) {
            return Ok(false);
        }
        peer.read_exact(bytes)?;
        peer.write_all(&[1])?;
        return Ok(true);
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A port behind which others are free as well.
    fn free(run: &str) -> Meeting {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Meeting { host: "127.0.0.1".into(), port, is_taken: false, run: run.into() }
    }

    fn all_meet(meeting: &Meeting, size: usize) {
        thread::scope(|scope| {
            // Rank 0 comes last.
            for rank in (0..size).rev() {
                scope.spawn(move || {
                    let mut bytes = [if rank == 0 { 7u8 } else { 0 }; 128];
                    hand_out(meeting, rank, size, &mut bytes).unwrap();
                    assert_eq!(bytes, [7; 128], "rank {rank}");
                });
                thread::sleep(Duration::from_millis(5));
            }
        });
    }

    #[test]
    fn every_rank_gets_the_bytes() {
        all_meet(&free("one"), 5);
    }

    #[test]
    fn a_port_of_the_launcher_is_left_alone() {
        let launcher = TcpListener::bind("127.0.0.1:0").unwrap();
        launcher.set_nonblocking(true).unwrap();
        let port = launcher.local_addr().unwrap().port();
        let meeting = Meeting { host: "127.0.0.1".into(), port, is_taken: true, run: "agent".into() };
        all_meet(&meeting, 3);
        assert!(launcher.accept().is_err(), "nobody knocks there");
    }

    #[test]
    fn a_port_of_another_service_is_passed_over() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = other.local_addr().unwrap().port();
        thread::spawn(move || {
            for peer in other.incoming().flatten() {
                let mut peer = peer;
                let _ = peer.write_all(b"HTTP/1.1 400 Bad Request, and more bytes than a greeting has");
            }
        });
        let meeting = Meeting { host: "127.0.0.1".into(), port, is_taken: false, run: "busy".into() };
        all_meet(&meeting, 3);
    }

    #[test]
    fn ranks_that_do_not_come_are_named() {
        let soon = Duration::from_millis(100);
        let e = hand_out_within(&free("missing"), 0, 3, &mut [0; 8], soon).unwrap_err();
        assert!(e.to_string().ends_with("ranks did not come in time: 1, 2"), "{e}");
        let e = hand_out_within(&free("missing"), 2, 3, &mut [0; 8], soon).unwrap_err();
        assert!(e.to_string().contains("rank 2 of 3 at 127.0.0.1:"), "{e}");
    }

    #[test]
    fn another_run_gets_nothing() {
        let meeting = free("mine");
        let other = Meeting { run: "other".into(), ..meeting.clone() };
        thread::scope(|scope| {
            scope.spawn(|| hand_out_within(&meeting, 0, 2, &mut [7; 8], Duration::from_secs(20)).unwrap());
            let mut bytes = [0; 8];
            let soon = Duration::from_millis(300);
            assert!(hand_out_within(&other, 1, 2, &mut bytes, soon).is_err());
            assert_eq!(bytes, [0; 8]);
            hand_out(&meeting, 1, 2, &mut bytes).unwrap();
            assert_eq!(bytes, [7; 8]);
        });
    }

    #[test]
    fn ports_wrap_around() {
        let meeting = Meeting { host: String::new(), port: 65535, is_taken: true, run: String::new() };
        assert_eq!(ports(&meeting).take(2).collect::<Vec<_>>(), [1025, 1026]);
    }
}
