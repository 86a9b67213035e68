//! Test binaries and the path of an emulator of whole machines (Bochs) -> what the binaries print
//! on a processor with AVX-512.
//!
//! The machine boots a Linux kernel from an image of a compact disc; the kernel unpacks an archive
//! with the tests, and a script runs them as the first and only program. All that is printed comes
//! back over the serial line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::archive::Archive;
use super::subjects::{ARGUMENTS, Outcome, Subject};
use crate::ci;

/// The emulator and what a machine is made of, from Debian's packages that `bench/levels.md` lists.
pub(super) struct Machine {
    emulator: PathBuf,
    /// Where the packages are unpacked; `/` where they are installed.
    packages: PathBuf,
    kernel: PathBuf,
    shell: PathBuf,
}

/// The last line of a run.
const END: &str = "ALL TESTS HAVE RUN";

impl Machine {
    /// # Errors
    /// When a part is missing.
    pub(super) fn new(emulator: &Path, packages: &Path) -> Result<Self, String> {
        let boot = packages.join("boot");
        let kernels = std::fs::read_dir(&boot).map_err(|e| format!("{}: {e}", boot.display()))?;
        let kernels = kernels.filter_map(|entry| Some(entry.ok()?.path()));
        let is_kernel = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
        };
        let kernel = kernels.filter(is_kernel).max();
        let kernel = kernel.ok_or(format!("{}: there is no kernel", boot.display()))?;
        let shells = ["bin/busybox", "usr/bin/busybox"].map(|path| packages.join(path));
        let shell = shells.into_iter().find(|path| path.exists());
        let shell = shell.ok_or(format!("{}: there is no busybox", packages.display()))?;
        let (emulator, packages) = (emulator.to_owned(), packages.to_owned());
        Ok(Machine { emulator, packages, kernel, shell })
    }

    /// Runs the tests, for at most so many minutes.
    ///
    /// # Errors
    /// When the machine cannot be put together, or does not come to its end.
    pub(super) fn run(&self, subjects: &[Subject], minutes: u64) -> Result<Vec<Outcome>, String> {
        let folder = ci::target_folder().join("levels/machine");
        let serial = folder.join("serial.txt");
        self.make_disc(subjects, &folder)?;
        let settings = self.settings(&folder);
        write(&folder.join("bochsrc"), settings.as_bytes())?;
        // What an earlier run left must not be taken for this one's.
        write(&serial, b"")?;
        println!("the machine prints to {}", serial.display());
        let mut child = Command::new(&self.emulator)
            .args(["-q", "-f", "bochsrc"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{}: {e}", self.emulator.display()))?;
        let began = Instant::now();
        // Switching the machine off ends the emulator, with a status that says nothing of the
        // tests.
        while child.try_wait().map_err(|e| e.to_string())?.is_none() {
            if began.elapsed() > Duration::from_secs(60 * minutes) {
                child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let text = std::fs::read(&serial).map_err(|e| format!("{}: {e}", serial.display()))?;
        let text = String::from_utf8_lossy(&text).replace('\r', "");
        let outcomes: Vec<Outcome> = subjects.iter().filter_map(|s| outcome(s, &text)).collect();
        for outcome in &outcomes {
            println!("{}: {}", outcome.name, outcome.cell());
        }
        if text.contains(END) {
            return Ok(outcomes);
        }
        let last: Vec<&str> = text.lines().rev().take(10).collect();
        Err(format!("the machine ended early: {:?}", last.into_iter().rev().collect::<Vec<_>>()))
    }

    /// The disc that the machine starts from.
    fn make_disc(&self, subjects: &[Subject], folder: &Path) -> Result<(), String> {
        let disc = folder.join("disc");
        let loader = disc.join("isolinux");
        std::fs::create_dir_all(&loader).map_err(|e| format!("{}: {e}", loader.display()))?;
        let copy = |from: &Path, name: &str| {
            std::fs::copy(from, loader.join(name)).map_err(|e| format!("{}: {e}", from.display()))
        };
        let modules = self.packages.join("usr/lib/syslinux/modules/bios");
        copy(&self.packages.join("usr/lib/ISOLINUX/isolinux.bin"), "isolinux.bin")?;
        copy(&modules.join("ldlinux.c32"), "ldlinux.c32")?;
        copy(&self.kernel, "kernel")?;
        write(&loader.join("tests"), &self.archive(subjects)?)?;
        // One processor whose clock is made up: nothing to calibrate, nothing to protect.
        let words = "console=ttyS0 quiet rdinit=/init mitigations=off nokaslr noapic nosmp tsc=reliable lpj=1000000";
        let entry = format!("LABEL tests\nKERNEL kernel\nAPPEND initrd=tests {words}\n");
        let menu = format!("SERIAL 0 115200\nDEFAULT tests\nPROMPT 0\n{entry}");
        write(&loader.join("isolinux.cfg"), menu.as_bytes())?;
        let writer = self.packages.join("usr/bin/xorriso");
        let libraries = self.packages.join("usr/lib/x86_64-linux-gnu");
        let output = Command::new(&writer)
            .env("LD_LIBRARY_PATH", libraries)
            .current_dir(folder)
            .args(["-as", "mkisofs", "-quiet", "-o", "disc.iso", "-b", "isolinux/isolinux.bin"])
            .args(["-c", "isolinux/boot.cat", "-no-emul-boot", "-boot-load-size", "4"])
            .args(["-boot-info-table", "disc"])
            .output()
            .map_err(|e| format!("{}: {e}", writer.display()))?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("xorriso: {complaint}")) }
    }

    /// The first file system: a shell, the tests with their tables, and the script that runs them.
    fn archive(&self, subjects: &[Subject]) -> Result<Vec<u8>, String> {
        let mut archive = Archive::default();
        for folder in ["proc", "dev", "sys", "tmp"] {
            archive.folder(folder);
        }
        archive.program("bin/busybox", &read(&self.shell)?);
        let mut script = "#!/bin/busybox sh\nexport PATH=/bin RUST_BACKTRACE=0\n".to_owned();
        for (kind, folder) in
            [("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("tmpfs", "tmp")]
        {
            let _ = writeln!(script, "busybox mount -t {kind} {kind} /{folder}");
        }
        for (k, subject) in subjects.iter().enumerate() {
            let folder = subject.folder.to_string_lossy();
            let folder = folder.trim_start_matches('/');
            archive.folder(folder);
            let tables = subject.folder.join("tests/data");
            // Most crates have no tables.
            for table in std::fs::read_dir(&tables).into_iter().flatten().flatten() {
                let name = table.file_name().to_string_lossy().into_owned();
                archive.program(&format!("{folder}/tests/data/{name}"), &read(&table.path())?);
            }
            archive.program(&format!("tests/{k}"), &read(&subject.program)?);
            let arguments = ARGUMENTS.join(" ");
            let _ = writeln!(script, "cd '/{folder}'; echo; echo '{}'", begin(subject));
            let _ =
                writeln!(script, "/tests/{k} {arguments} 2>&1; echo; echo \"{} $?\"", end(subject));
            // Its memory is also the disc's.
            let _ = writeln!(script, "busybox rm /tests/{k}");
        }
        // What is printed takes a while to leave the line.
        let _ = writeln!(script, "echo {END}; busybox sync; busybox sleep 2; busybox poweroff -f");
        archive.program("init", script.as_bytes());
        Ok(archive.finish())
    }

    fn settings(&self, folder: &Path) -> String {
        let roms = self.packages.join("usr/share/bochs");
        let lines = [
            "cpu: model=corei7_skylake_x, count=1, ips=50000000".to_owned(),
            "megs: 2048".to_owned(),
            format!("romimage: file={}/BIOS-bochs-latest", roms.display()),
            format!("vgaromimage: file={}/VGABIOS-lgpl-latest", roms.display()),
            "clock: sync=none".to_owned(),
            "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14".to_owned(),
            format!("ata0-master: type=cdrom, path={}/disc.iso, status=inserted", folder.display()),
            "boot: cdrom".to_owned(),
            format!("com1: enabled=1, mode=file, dev={}/serial.txt", folder.display()),
            "log: bochs.log".to_owned(),
            "panic: action=fatal".to_owned(),
            "display_library: nogui".to_owned(),
        ];
        lines.join("\n") + "\n"
    }
}

fn begin(subject: &Subject) -> String {
    format!("BEGIN {}", subject.name)
}

fn end(subject: &Subject) -> String {
    format!("END {}", subject.name)
}

/// What a test printed between the lines that its run begins and ends with.
fn outcome(subject: &Subject, text: &str) -> Option<Outcome> {
    let (_, rest) = text.split_once(&format!("\n{}\n", begin(subject)))?;
    let (printed, status) = rest.split_once(&format!("\n{} ", end(subject)))?;
    let status = status.lines().next().and_then(|status| status.parse().ok());
    Some(subject.outcome(printed, status))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, contents: &[u8]) -> Result<(), String> {
    std::fs::write(path, contents).map_err(|e| format!("{}: {e}", path.display()))
}
