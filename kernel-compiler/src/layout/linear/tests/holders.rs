//! Elements are where the holders say.

use super::super::{LANE_BITS, Layout};
use super::one;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_warp_has_each_element_in_its_lane_and_register(l in one()) {
        let linear = |bases: &[u32], x: u32| {
            bases.iter().enumerate().fold(0, |all, (i, b)| if x >> i & 1 == 1 { all ^ b } else { all })
        };
        let idle = Layout::new(&l.shape(), l.reg_bases().to_vec(), *l.lane_bases(), vec![0; l.warp_bases().len()]);
        prop_assert_eq!(l.holders().is_none(), l.warp_bases().iter().any(|&b| b != 0));
        prop_assume!(idle.is_surjective());
        let holders = idle.holders().unwrap();
        for element in 0..1 << l.bits() {
            let lane = linear(&holders.lanes, element);
            let which = holders.choices.iter().enumerate().map(|(i, c)| linear(c, element) << i).sum::<u32>();
            let register = holders.registers[which as usize];
            prop_assert!(lane < 1 << LANE_BITS);
            prop_assert_eq!(idle.apply(register, lane as usize, 0), element);
        }
    }
}

#[test]
fn a_tile_of_one_warp_is_in_lanes_and_then_registers() {
    let l = Layout::blocked(&[128], &[0], 1, 1).repeated(4);
    let holders = l.holders().unwrap();
    assert_eq!(holders.lanes, [1, 2, 4, 8, 16, 0, 0]);
    assert_eq!(holders.registers, [0, 1, 2, 3]);
    assert_eq!(holders.choices, [[0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 1]]);
}
