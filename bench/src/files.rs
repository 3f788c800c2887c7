//! Files: read with a message that names them, written whole or not at all.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Reads JSON. Errors: [`Error::File`], and [`Error::Content`] with the place of a mistake.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|e| Error::file("reading", path, e))?;
    serde_json::from_str(&text).map_err(|e| Error::content(path, e))
}

/// A folder for results, which can be written to: that is seen before anything is measured.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates the folder where there is none. Errors: [`Error::File`] where it cannot be written to.
    pub fn new(path: &Path) -> Result<Folder> {
        fs::create_dir_all(path).map_err(|e| Error::file("creating the folder", path, e))?;
        let folder = Folder(path.into());
        folder.part().map_err(|e| Error::file("writing to the folder", path, e))?;
        Ok(folder)
    }

    /// A file that is removed unless it gets a name, with the mode of other new files.
    fn part(&self) -> std::io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".part-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(&self.0)
    }

    /// Writes a file: readers see the old contents or the new ones. Returns its path. Errors: [`Error::File`].
    pub fn write(&self, name: &str, contents: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        let written = (|| {
            let mut part = self.part()?;
            part.write_all(contents.as_bytes())?;
            part.as_file().sync_all()?;
            part.persist(&path)?;
            Ok(())
        })();
        written.map_err(|e| Error::file("writing", &path, e))?;
        Ok(path)
    }
}

/// The name of a sweep as that of a file: letters, digits, dots and dashes.
pub(crate) fn file_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = text.chars().map(plain).collect();
    // A leading dot would hide it.
    match name.trim_matches(['.', '-']) {
        "" => "sweep".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        assert_eq!(file_name("vector_add f32"), "vector_add-f32");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!([file_name(".."), file_name("")], ["sweep"; 2]);
    }

    #[test]
    fn nothing_is_left_half_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(&dir.path().join("a/b")).unwrap();
        folder.write("x.csv", "one").unwrap();
        folder.write("x.csv", "two").unwrap();
        // A folder of that name cannot be replaced by a file.
        fs::create_dir(dir.path().join("a/b/y.csv")).unwrap();
        let refused = folder.write("y.csv", "three").unwrap_err().to_string();
        assert!(refused.starts_with("writing ") && refused.contains("y.csv: "), "{refused}");
        let mut names: Vec<_> = fs::read_dir(dir.path().join("a/b"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["x.csv", "y.csv"], "no parts");
        assert_eq!(fs::read_to_string(dir.path().join("a/b/x.csv")).unwrap(), "two");
        fs::write(dir.path().join("file"), "").unwrap();
        let refused = Folder::new(&dir.path().join("file/below")).unwrap_err().to_string();
        assert!(refused.starts_with("creating the folder "), "{refused}");
    }
}
