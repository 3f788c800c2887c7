//! The options of a range take effect in the lowered code, by the instructions that a target has.

use tilewright_compiler::{Configs, DeviceUnit, Libraries, device_units};

/// A product in a loop with these options, of a configuration with these settings.
fn product(options: &str, settings: &str) -> Vec<DeviceUnit> {
    let units = device_units(
        &format!(
        "#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]{settings}), grid = [2])]
         pub fn k<const BM: usize, const BN: usize, const BK: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {{
             for t in range(program_id(0), cdiv(c.dim(0), BM), num_programs(0)) {{
                 let mut acc = zeros::<f32>([BM, BN]);
                 for k in range(0, a.dim(1), BK){options} {{
                     acc = dot(a.tile([t * BM, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
                 }}
                 c.store([t * BM, 0], acc);
             }}
         }}"
        ),
        &Libraries::default(),
        Configs::All,
    );
    assert!(!units.is_empty(), "{options} {settings} compiles");
    units
}

/// Entries by the ends of their names, with the number of buffers of their one circular buffer.
fn stages_of(units: &[DeviceUnit]) -> Vec<(String, u32)> {
    let mut out = vec![];
    for unit in units {
        let bodies = unit.source.split("\n#[unsafe(no_mangle)]\n").skip(1);
        for (entry, body) in unit.entries.iter().zip(bodies) {
            let stages: Vec<u32> = body
                .split("const STAGES")
                .skip(1)
                .map(|s| {
                    s.split(" = ")
                        .nth(1)
                        .and_then(|s| s.split(';').next())
                        .expect("a number")
                        .parse()
                        .expect("a number")
                })
                .collect();
            let [stages] = stages[..] else { panic!("{}: one circular buffer, found {stages:?}", entry.name) };
            out.push((entry.name.rsplit("__").next().expect("a variant").to_owned(), stages));
        }
    }
    out.sort();
    out
}

fn named(list: &[(&str, u32)]) -> Vec<(String, u32)> {
    list.iter().map(|&(n, s)| (n.to_owned(), s)).collect()
}

#[test]
fn stages_are_those_that_are_asked_for() {
    for n in [2, 3, 5] {
        let asked = format!(".stages({n})");
        assert_eq!(stages_of(&product(&asked, ", arch = [90]")), named(&[("tma", n), ("tma_general", n)]));
        assert_eq!(
            stages_of(&product(&asked, ", arch = [80]")),
            named(&["aligned", "aligned_4", "aligned_8", "general"].map(|v| (v, n)))
        );
        // The loop's option overrides the configuration, which holds if the loop has none.
        for arch in [80, 90] {
            let settings = format!(", stages = [4], arch = [{arch}]");
            assert!(stages_of(&product(&asked, &settings)).iter().all(|r| r.1 == n), "{arch}");
            assert!(stages_of(&product("", &settings)).iter().all(|r| r.1 == 4), "{arch}");
        }
    }
    // Without an option a circular buffer takes all free shared memory.
    assert!(stages_of(&product("", ", arch = [90]")).iter().all(|r| r.1 > 5));
}

#[test]
fn specialized_or_not() {
    let variants = |options: &str, settings: &str| -> Vec<String> {
        stages_of(&product(options, settings)).into_iter().map(|r| r.0).collect()
    };
    let all = ["aligned", "aligned_4", "aligned_8", "general", "tma", "tma_general"];
    assert_eq!(variants("", ""), all);
    assert_eq!(variants(".warp_specialize(true)", ""), all);
    // All warps copy then, also for warpgroups' products, which take whole vectors alone: warps' are for the rest, on
    // sm_90 too, but not of a configuration for warpgroups.
    assert_eq!(
        variants(".warp_specialize(false)", ""),
        ["aligned", "aligned_4", "aligned_8", "general", "wgmma_cp_async"]
    );
    assert_eq!(variants(".warp_specialize(false)", ", arch = [90]"), ["wgmma_cp_async"]);
    let by_wgmma = |options: &str| -> DeviceUnit {
        product(options, "").into_iter().find(|u| u.only == Some("sm_90a")).expect("code for sm_90a")
    };
    let (alike, specialized) = (by_wgmma(".warp_specialize(false)"), by_wgmma(""));
    assert!(
        alike.entries.iter().all(|e| e.threads == 128 && e.maps == 0)
            && alike.source.contains("d::wgmma")
            && alike.source.contains("d::copy_ahead")
    );
    assert!(
        specialized.entries.iter().all(|e| e.threads > 128 && e.maps > 0) && specialized.source.contains("d::wgmma")
    );
}

#[test]
fn options_come_in_any_order() {
    let source = |options: &str| product(options, "").into_iter().map(|u| u.source).collect::<Vec<_>>();
    assert_eq!(source(".stages(3).unroll(2)"), source(".unroll(2).stages(3)"));
    // One round of a loop that copies ahead is laid out twice; a producer and its consumers are not.
    assert_ne!(source(".stages(3).unroll(2)")[0], source(".stages(3)")[0]);
}
