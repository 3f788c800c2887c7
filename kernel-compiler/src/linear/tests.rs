use super::*;
#[test]
fn smoke() {
    let l = Layout::blocked(&[64, 64], &[1, 0], 4, 4);
    assert!(l.is_surjective());
    assert_eq!(l.contiguous(1), 4);
    println!("{:?} {:?}", l, l.thread_expr().iter().map(|t| t.rust("tid")).collect::<Vec<_>>());
}
