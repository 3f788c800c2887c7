//! Copies by tensor maps as device programs: with as many coordinates as the array has dimensions.

use super::*;

/// A product of matrices of views of a rank, with indices before the last two.
fn product(rank: usize) -> String {
    let before = "program_id(2), ".repeat(rank - 2);
    let ones = "1, ".repeat(rank - 2);
    format!(
        "#[tile_kernel(tune(warps = [4]), grid = [cdiv(c.dim({m}), 64), cdiv(c.dim({n}), 64), c.dim(0)])]
         fn c_{rank}(a: View<f16, {rank}>, b: View<f16, {rank}>, mut c: ViewMut<f16, {rank}>) {{
             let (i, j) = (program_id(0) * 64, program_id(1) * 64);
             let mut sums = zeros::<f32>([64, 64]);
             for k in range(0, a.dim({n}), 64) {{
                 let x = reshape(a.tile([{before}i, k], [{ones}64, 64]), [64, 64]);
                 let y = reshape(b.tile([{before}k, j], [{ones}64, 64]), [64, 64]);
                 sums = dot(x, y, sums);
             }}
             c.store([{before}i, j], reshape(sums.to::<f16>(), [{ones}64, 64]));
         }}\n",
        m = rank - 2,
        n = rank - 1,
    )
}

#[test]
fn copies_of_every_rank() {
    if !have_toolchain() {
        return;
    }
    let mut p = TestCrate::new("copies");
    p.files = vec![p.dir.join("copies.rs")];
    fs::write(&p.files[0], (2..=5).map(product).collect::<String>()).unwrap();
    let (outcome, bundles) = p.built_over_library("sm_90a", &lowered);
    let bundles: Vec<Bundle> = bundles.iter().map(|b| Bundle::parse(b).unwrap()).collect();
    for rank in 2..=5 {
        let bundle = bundles.iter().find(|b| b.kernel() == format!("c_{rank}")).expect("its bundle");
        let entry = bundle.entries().iter().find(|e| e.name.ends_with("__tma")).expect("it copies by tensor maps");
        let image = bundle.image_of(entry, "sm_90a").unwrap();
        let ptx = image.ptx().unwrap();
        let copies: Vec<&str> = ptx.lines().filter(|l| l.contains("cp.async.bulk.tensor")).collect();
        assert!(copies.iter().any(|l| l.contains(".shared::cluster.")), "{rank}: {copies:#?}");
        for copy in copies {
            let coordinates = copy.split('{').nth(1).and_then(|l| l.split('}').next()).map(|l| l.split(',').count());
            let of_rank = copy.contains(&format!("cp.async.bulk.tensor.{rank}d."));
            assert!(of_rank && coordinates == Some(rank), "a copy of rank {rank}: {copy}");
        }
        assert_eq!(image.cubin().unwrap().is_some(), outcome.report.ptxas.is_some(), "{rank}");
    }
}
