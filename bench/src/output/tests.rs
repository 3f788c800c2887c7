use super::escape;

#[test]
fn special_characters_stay_text() {
    assert_eq!(escape("a<b>&\"c\"'\u{7}"), "a&lt;b&gt;&amp;&quot;c&quot;&#39; ");
}
