//! The page in a browser: it runs its script, and shows the numbers of a point.

use crate::saved;
use std::path::PathBuf;
use std::process::Command;

/// A Chromium that can be started; `CHROME` names another one.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"];
    let named = std::env::var_os("CHROME").map(PathBuf::from);
    let found = |program: &PathBuf| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    named.into_iter().chain(names.map(PathBuf::from)).find(found)
}

/// Moves the pointer over the first point of a page, and writes down the result.
const PROBE: &str = r#"<script>
const points = document.querySelectorAll(".hit");
points[0].dispatchEvent(new PointerEvent("pointermove", {clientX: 40, clientY: 40}));
const report = JSON.parse(document.getElementById("report").textContent);
document.title = "probe: " + points.length + " points; " + tip.textContent + "; " + report.sweeps[0].name;
</script>"#;

#[test]
fn a_browser_shows_the_numbers_of_a_point() {
    let Some(chromium) = chromium() else {
        let required = std::env::var_os("TILE_REQUIRE_CHROMIUM").is_some();
        assert!(!required, "TILE_REQUIRE_CHROMIUM is set, but no Chromium in PATH starts, and CHROME names none");
        eprintln!("skipped: there is no Chromium in PATH, and CHROME names none");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = saved::load(&saved::run()).html().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, page.replace("</body>", &format!("{PROBE}</body>"))).unwrap();
    let mut command = Command::new(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    let out = command.arg(format!("file://{}", file.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&out.stdout);
    let title = dom.split_once("<title>probe: ").and_then(|(_, rest)| rest.split_once("</title>")).map(|(t, _)| t);
    // Five points and a cross of the figure, and three of the roofline.
    let wanted = "9 points; tile at n = 4096: 0.00400 ms (0.00400 to 0.00500, 6 rounds), 12.29 GB/s, 0.001024 TFLOP/s; \
                  add&lt;/script&gt;, f32";
    assert_eq!(title, Some(wanted), "{}", String::from_utf8_lossy(&out.stderr));
}
