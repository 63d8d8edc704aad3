import AgentCore
import AgentDaemon
import Glibc
import LinuxIO
import LinuxPlatform
import RoamwardCore
import TestSupport
import Testing

@Suite("The notes that outlive a crash") struct StateFolderTests {
  private let command = CommandProviderConfiguration(up: ["up"], down: ["/usr/bin/down", "it"], interface: "vpn0", timeout: .seconds(7))
  private let hold = Hold(wantsUp: true, since: 5, lifetime: .time(99), reason: "why not")

  private func fill(_ path: String) throws {
    let journal = try StateFolder(path: path).recoveryLog
    journal.noteLink("corp")
    journal.noteCommand("vpn", command)
    journal.saveHolds(["corp": hold])
  }

  @Test("are there again, and go when they are taken back") func reads() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try fill(path)
    let journal = try StateFolder(path: path).recoveryLog
    #expect(journal.unfinishedLinks() == ["corp"] && journal.startedCommands() == ["vpn": command] && journal.holds() == ["corp": hold])
    #expect(journal.troubles() == [])
    journal.forgetLink("corp")
    journal.forgetCommand("vpn")
    journal.saveHolds([:])
    #expect(names(in: path) == ["lock"])
  }

  @Test("wait for the lock of an agent that is just going, and no longer than a second for one that stays") func lockOfDying() throws {
    let folder = try TemporaryFolder()
    try fill(folder.path)
    // As a child of a killed agent between fork and exec.
    let number = open(folder.path + "/lock", O_RDWR | O_CLOEXEC)
    let held = FileDescriptor(owning: number)
    #expect(flock(number, LOCK_EX | LOCK_NB) == 0)
    let error = #expect(throws: SystemError.self) { _ = try StateFolder(path: folder.path) }
    #expect(error?.code == EBUSY)
    flock(number, LOCK_UN)
    let child = try SpawnedProgram(
      "flock", ["flock", folder.path + "/lock", "sleep", "0.3"], environment: ["PATH=/usr/bin:/bin"],
      descriptors: [.nothing, .nothing, .nothing], company: .group
    ).start()
    while flock(number, LOCK_SH | LOCK_NB) == 0 {
      flock(number, LOCK_UN)
      usleep(1000)
    }
    #expect(try StateFolder(path: folder.path).recoveryLog.unfinishedLinks() == ["corp"])
    waitpid(child, nil, 0)
    withExtendedLifetime(held) {}
  }

  @Test(
    "torn at any byte, or with any bit flipped, cost themselves alone, and are told with their name",
    arguments: ["link-corp", "command-vpn", "holds.json"])
  func damage(name: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try fill(path)
    let whole = try TextFile.read("\(path)/\(name)")
    var versions = (0..<whole.count).map { Array(whole[..<$0]) }
    for bit in 0..<8 * whole.count {
      var flipped = whole
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      versions.append(flipped)
    }
    versions.append(whole + [0])
    versions.append([UInt8](repeating: 0, count: whole.count))
    for version in versions {
      try TextFile.overwrite("\(path)/\(name)", with: version)
      let journal = try StateFolder(path: path).recoveryLog
      let (links, commands, holds) = (journal.unfinishedLinks(), journal.startedCommands(), journal.holds())
      #expect(links == (name == "link-corp" ? [] : ["corp"]))
      #expect(commands == (name == "command-vpn" ? [:] : ["vpn": command]))
      #expect(holds == (name == "holds.json" ? [:] : ["corp": hold]))
      let troubles = journal.troubles()
      #expect(troubles.count == 1 && troubles[0].contains("\(path)/\(name) is damaged") && troubles[0].contains("damaged-\(name)"))
      #expect(try TextFile.read("\(path)/damaged-\(name)") == version)
      try TextFile.replace("\(path)/\(name)", with: whole, mode: 0o600)
    }
  }

  @Test("one in another's place is damaged") func swapped() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try fill(path)
    rename("\(path)/link-corp", "\(path)/link-home")
    let journal = try StateFolder(path: path).recoveryLog
    #expect(journal.unfinishedLinks() == [] && journal.troubles().count == 1)
  }

  @Test("of a boot before are about nothing; what a person said still holds") func boots() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try fill(path)
    for name in ["link-corp", "command-vpn"] {
      let text = String(decoding: try TextFile.read("\(path)/\(name)"), as: UTF8.self)
      let boot = String(decoding: try TextFile.read("/proc/sys/kernel/random/boot_id").dropLast(), as: UTF8.self)
      #expect(text.contains(boot))
    }
    #expect(try !String(decoding: TextFile.read("\(path)/holds.json"), as: UTF8.self).contains("boot"))
  }

  @Test("holds of a version before still hold") func legacy() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try Folder.make(path, mode: 0o700)
    let text = #"{"corp": {"up": true, "since": 5, "until": {"time": 99}, "reason": "why not"}}"#
    try TextFile.replace("\(path)/holds.json", with: Array(text.utf8), mode: 0o600)
    let journal = try StateFolder(path: path).recoveryLog
    #expect(journal.holds() == ["corp": hold] && journal.troubles() == [])
  }

  @Test("of a second agent there are none: the first has the lock") func lock() throws {
    let folder = try TemporaryFolder()
    let first = try StateFolder(path: folder.path + "/state")
    let error = #expect(throws: SystemError.self) { try StateFolder(path: folder.path + "/state") }
    #expect(error?.code == EBUSY && error?.description.contains("another agent") == true)
    withExtendedLifetime(first) {}
  }

  @Test(
    "are in memory alone on a full or read-only disk, which is told, and on it again as soon as that can be",
    .enabled(if: canMakeNamespaces, "no namespaces here"))
  func fullAndReadOnly() throws {
    let folder = try TemporaryFolder()
    try inNamespaces(mounts: true) {
      let path = folder.path + "/disk"
      try Folder.make(path, mode: 0o755)
      try #require(mount("tmpfs", path, "tmpfs", 0, "size=64k") == 0)
      defer { umount2(path, 2) }
      try fill(path + "/state")
      // Full.
      let filler = open(path + "/filler", O_WRONLY | O_CREAT, 0o600)
      let block = [UInt8](repeating: 1, count: 4096)
      while write(filler, block, block.count) > 0 {}
      close(filler)
      do {
        let journal = try StateFolder(path: path + "/state").recoveryLog
        #expect(journal.unfinishedLinks() == ["corp"] && journal.troubles() == [])
        journal.noteLink("home")
        #expect(journal.unfinishedLinks() == ["corp", "home"])
        #expect(journal.troubles().first?.contains("No space left on device") == true)
        unlink(path + "/filler")
        #expect(journal.troubles() == [])
      }
      #expect(try StateFolder(path: path + "/state").recoveryLog.unfinishedLinks() == ["corp", "home"])
      // Read-only, with a lock file and without, and without a folder.
      try #require(mount(nil, path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
      let first = try StateFolder(path: path + "/state")
      first.recoveryLog.noteLink("more")
      #expect(first.recoveryLog.unfinishedLinks() == ["corp", "home", "more"])
      #expect(first.recoveryLog.troubles().first?.contains("Read-only file system") == true)
      #expect(throws: SystemError.self) { try StateFolder(path: path + "/state") }
      let other = try StateFolder(path: path + "/other")
      other.recoveryLog.noteLink("x")
      #expect(other.recoveryLog.troubles().first?.contains("Read-only file system") == true)
    }
  }
}
