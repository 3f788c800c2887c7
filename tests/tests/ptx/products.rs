//! The shape of products: the number of instructions, and the barriers between the roles of a warp-specialized program.

use super::*;

/// Rows and columns of one step's product of a thread block, and its K in bytes.
fn product(e: &Entry) -> Option<[usize; 3]> {
    let number = |name: &str| e.consts.iter().find(|c| c.0 == name).map(|c| c.1 as usize);
    let (m, n, deep) = (number("BM")? / e.ctas, number("BN")?, number("BK")? * e.element_bytes);
    // Warpgroups make the transpose of a tile of few rows, of one whose right operand is computed, and of A B in tf32.
    let of_swapped =
        ["matmul_tf32_nn", "matmul_f16_", "matmul_f32_3xtf32_nn", "matmul_f32_3xtf32_nt", "batched_matmul_f32_3xtf32"];
    let swapped = e.specialized && (m < 64 || of_swapped.iter().any(|p| e.name.starts_with(p)));
    Some(if swapped { [n, m, deep] } else { [m, n, deep] })
}

/// Instructions of each thread for a tile of so many rows and columns, and so many bytes deep: by warpgroups, which
/// take 64 rows and up to 256 columns, and share the rows first; or by warps, which take 16 rows and 8 columns. Both
/// are 32 bytes deep.
fn instructions([m, n, deep]: [usize; 3], warps: usize, by_groups: bool) -> usize {
    let (rows, columns) = if by_groups {
        let groups = warps / 4;
        let across = groups / groups.min(m / 64);
        (64, (n / across).min(256))
    } else {
        (16, 8)
    };
    let workers = if by_groups { warps / 4 } else { warps };
    (m / rows) * (n / columns) * (deep / 32) / workers
}

/// The families whose products are all of one tile, `BM` by `BN` by `BK`.
const OF_ONE_TILE: [&str; 4] = ["matmul", "gemm", "scaled_product", "batched_matmul"];

/// The name of a product in lowered code, and the number of tensor-core products for each product of an entry.
fn dots(lowered: &str) -> Vec<usize> {
    let of_three = |l: &str| l.contains("d::mma_tile::<") && l.contains(", true>(");
    let is_dot = |l: &&str| ["d::wgmma::<", "d::wgmma_ra::<", "d::mma_tile::<"].iter().any(|call| l.contains(call));
    lowered.lines().filter(is_dot).map(|l| if of_three(l) { 3 } else { 1 }).collect()
}

/// The count is that of the products. LLVM may peel the first round of a loop, and so may make up to twice as many of
/// it; but whole products.
fn count_is(e: &Entry, found: usize, dots: &[usize], each: usize, wrong: &mut Vec<String>) {
    let expected = dots.iter().sum::<usize>() * each;
    let whole = expected > 0 && found % each == 0 && (expected..=2 * expected).contains(&found);
    // A single one is there once or twice.
    if !whole || dots.len() == 1 && found != expected && found != 2 * expected {
        wrong.push(format!("{}: {found}, and {dots:?} products of {each} take {expected}", e.title()));
    }
}

/// Checks the entries that `of` lets through, of which every family has some.
fn count_products(of: impl Fn(&Entry) -> bool, instruction: &str, by_groups: bool) {
    let lowered = lowered();
    let (entries, mut several, mut wrong) = (entries(), 0, vec![]);
    for family in OF_ONE_TILE {
        let mut checked = 0;
        for e in entries.iter().filter(|e| e.is_of_family(family) && of(e)) {
            let dots = dots(&lowered[e.name]);
            let Some(tile) = product(e).filter(|_| !dots.is_empty()) else { continue };
            checked += 1;
            several += usize::from(dots.iter().sum::<usize>() > 1);
            count_is(
                e,
                e.count(|o| o.starts_with(instruction)),
                &dots,
                instructions(tile, e.warps, by_groups),
                &mut wrong,
            );
        }
        assert!(checked > 0 || !entries.iter().any(&of), "no entry of {family}");
    }
    assert!(several > 0 || !entries.iter().any(&of), "entries of several products");
    none(instruction, wrong);
}

#[test]
fn products_by_warpgroups_are_those_of_the_tile() {
    count_products(|e| e.specialized, "wgmma.mma_async", true);
}

#[test]
fn products_by_warps_are_those_of_the_tile() {
    count_products(|e| !e.specialized && e.target == "sm_80", "mma.sync", false);
}

#[test]
fn registers_change_hands_once() {
    let lowered = lowered();
    let mut wrong = vec![];
    for e in entries().iter().filter(|e| e.specialized) {
        let set = |how: &str| -> Vec<u32> {
            let numbers = e
                .ptx
                .split(how)
                .skip(1)
                .map(|rest| rest[..rest.find(';').expect("an end")].trim().parse().expect("a number"));
            numbers.collect()
        };
        let (fewer, more) = (set("setmaxnreg.dec.sync.aligned.u32"), set("setmaxnreg.inc.sync.aligned.u32"));
        let handed_over = lowered[e.name].contains("d::set_registers::<");
        let ok = match (&fewer[..], &more[..]) {
            ([], []) => !handed_over,
            // The multiprocessor has 65536, and the producer is a warpgroup.
            (&[producer], &[consumer]) => {
                handed_over
                    && producer < consumer
                    && (128 * producer + (e.threads - 128) * consumer) * e.min_blocks <= 65536
            }
            _ => false,
        };
        if !ok {
            wrong.push(format!("{}: {fewer:?} given, {more:?} taken", e.title()));
        }
    }
    none("setmaxnreg", wrong);
}

/// Whether a line is a barrier of all threads: barrier 0, or one without a number of threads.
fn of_all(line: &str) -> bool {
    let step = ["bar.sync", "barrier.sync", "barrier.cta.sync"].into_iter().find_map(|s| line.strip_prefix(s));
    let Some((_, operands)) = step.and_then(|rest| rest.trim_end_matches(';').split_once([' ', '\t'])) else {
        return false;
    };
    let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
    operands.len() == 1 || operands[0] == "0"
}

#[test]
fn roles_meet_once() {
    let role = |l: &str| l.starts_with("setmaxnreg") || l.starts_with("mbarrier.try_wait") || l.starts_with("wgmma");
    let mut wrong = vec![];
    for e in entries().iter().filter(|e| e.specialized) {
        let meetings: Vec<usize> = e.ptx.lines().zip(0..).filter(|l| of_all(l.0)).map(|l| l.1).collect();
        let roles = e.ptx.lines().position(role).expect("a specialized program has roles");
        // The blocks of a cluster meet again before one of them ends.
        let clusters: Vec<usize> =
            e.ptx.lines().zip(0..).filter(|l| l.0.starts_with("barrier.cluster.wait")).map(|l| l.1).collect();
        let meets = match e.ctas {
            1 => meetings.len() == 1 && meetings[0] < roles && clusters.is_empty(),
            _ => meetings.is_empty() && clusters.len() > 1 && clusters[0] < roles && clusters[1] > roles,
        };
        if !meets {
            wrong.push(format!(
                "{}: barriers in lines {meetings:?}, of the cluster in {clusters:?}, roles from {roles} on",
                e.title()
            ));
        }
    }
    none("barriers of all threads", wrong);
}

#[test]
fn clusters_share_operands() {
    let lowered = lowered();
    let (entries, mut wrong) = (entries(), vec![]);
    for e in entries.iter().filter(|e| e.specialized) {
        let copies = |how: &str| e.count(|o| o.starts_with("cp.async.bulk.tensor") && o.contains(how));
        let (shared, told) = (copies(".multicast::cluster"), e.count(|o| o.starts_with("mapa.shared::cluster")));
        let declared = e.ptx.contains(&format!(".reqnctapercluster {}, 1, 1", e.ctas));
        let ok = match e.ctas {
            1 => shared == 0 && told == 0 && !e.ptx.contains(".reqnctapercluster"),
            // As many as in the code, or copies of them.
            _ => {
                declared
                    && told > 0
                    && shared > 0
                    && shared % lowered[e.name].matches("d::tma_load_multicast::<").count() == 0
            }
        };
        if !ok {
            wrong.push(format!("{}: {shared} copies to all, {told} arrivals at others", e.title()));
        }
    }
    assert!(entries.iter().any(|e| e.ctas > 1) || !entries.iter().any(|e| e.specialized));
    none("clusters", wrong);
}

#[test]
fn waits_for_mbarriers_are_loops() {
    const LOOP: [&str; 3] = ["@done bra over;", "bra again;", "over:"];
    let lowered = lowered();
    let mut wrong = vec![];
    for e in entries().iter().filter(|e| e.specialized) {
        let lines: Vec<&str> = e.ptx.lines().collect();
        let waits: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].starts_with("mbarrier.try_wait")).collect();
        let loops = waits.iter().filter(|&&i| lines[i - 1] == "again:" && lines[i + 1..].starts_with(&LOOP)).count();
        let expected = lowered[e.name].matches("d::mbarrier_wait(").count();
        // Code may be copied, never left out.
        if loops != waits.len() || loops < expected {
            wrong.push(format!("{}: {} waits, {loops} of them loops, lowered {expected}", e.title(), waits.len()));
        }
        // The producer waits before it fills a buffer, and the others before each group of products of one.
        let mut waited = false;
        for l in &lines {
            match l {
                l if l.starts_with("mbarrier.try_wait") => waited = true,
                l if l.starts_with("mbarrier.arrive.expect_tx") || l.starts_with("wgmma.fence") => {
                    wrong.extend((!waited).then(|| format!("{}: no wait before `{l}`", e.title())));
                    waited &= l.starts_with("wgmma");
                }
                l if l.starts_with("wgmma.commit_group") => waited = false,
                _ => {}
            }
        }
        let (commits, pending) =
            (e.count(|o| o.starts_with("wgmma.commit_group")), e.count(|o| o.starts_with("wgmma.wait_group")));
        // A lone warpgroup waits in the loop for the group before, and after it for the last.
        if commits == 0 || commits > pending {
            wrong.push(format!("{}: {commits} groups of products, {pending} waits for them", e.title()));
        }
    }
    none("waits", wrong);
}

#[test]
fn ptxas_lets_products_run_on() {
    let Some(dir) = tilewright_kernels::BUNDLES else { return };
    let report = std::fs::read_to_string(format!("{dir}/report.json")).expect("the build wrote it");
    let (mut entry, mut known, mut wrong) = ("", 0, vec![]);
    for line in report.lines().map(|l| l.trim().trim_end_matches(',')) {
        if let Some(name) = line.strip_prefix("\"entry\": ") {
            entry = name;
        } else if let Some(value) = line.strip_prefix("\"serialized\": ") {
            known += 1;
            wrong.extend((value != "false").then(|| entry.to_string()));
        }
    }
    assert_eq!(known, report.matches("\"entry\":").count());
    none("wgmma.mma_async instructions are serialized", wrong);
}

#[test]
fn instructions_of_a_tile() {
    // Two warpgroups of 64 rows, four steps of 32 bytes; one warpgroup with both; two side by side.
    assert_eq!(instructions([128, 256, 128], 8, true), 4);
    assert_eq!(instructions([128, 256, 128], 4, true), 8);
    assert_eq!(instructions([64, 256, 128], 8, true), 4);
    assert_eq!(instructions([64, 512, 32], 4, true), 2);
    assert_eq!(instructions([64, 64, 64], 4, false), 16);
    assert!(of_all("bar.sync \t0;") && of_all("barrier.cta.sync.aligned 3;") && of_all("barrier.sync 0, 128;"));
    assert!(
        !of_all("bar.sync \t2, 128;")
            && !of_all("bar.sync %r1, 128;")
            && !of_all("bar.warp.sync -1;")
            && !of_all("mov.u32 %r1, 0;")
    );
}
