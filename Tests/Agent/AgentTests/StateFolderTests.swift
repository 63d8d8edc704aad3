import AgentCore
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import PolicySource
import RoamwardCore
import TestKit
import TestSupport
import Testing

@testable import LinuxPlatform

@Suite("The notes that outlive a crash") struct StateFolderTests {
  private let command = CommandProviderConfiguration(up: ["up"], down: ["/usr/bin/down", "it"], interface: "vpn0", timeout: .seconds(7))
  private let override = ManualOverride(wantsUp: true, since: 5, lifetime: .time(99), reason: "why not")

  private func fill(_ path: String) throws {
    let journal = try StateFolder(path: path).recoveryLog
    journal.recordLink("corp")
    journal.recordCommand("vpn", command)
    journal.saveOverrides(["corp": override])
  }

  @Test("are there again, and go when they are taken back") func reads() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try fill(path)
    let journal = try StateFolder(path: path).recoveryLog
    #expect(
      journal.unfinishedLinks() == ["corp"] && journal.startedCommands() == ["vpn": command] && journal.overrides() == ["corp": override])
    #expect(journal.troubles() == [])
    journal.forgetLink("corp")
    journal.forgetCommand("vpn")
    journal.saveOverrides([:])
    #expect(names(in: path) == ["lock"])
  }

  @Test("a hand-over is read once, also one of the first version, and one with members of a later version") func handOver() throws {
    let folder = try TemporaryFolder()
    var left = HandOver(tunnels: [
      "corp": HandOver.Tunnel(slot: 3, connectedSince: 7, link: "corp"),
      "ssl": HandOver.Tunnel(slot: 4, connectedSince: 8, link: nil, outer: "corp"),
      "plain": HandOver.Tunnel(slot: 5, connectedSince: 9, link: "plain", provider: "{\"version\":1}"),
    ])
    try StateFolder(path: folder.path).recoveryLog.recordHandOver(left)
    do {
      let state = try StateFolder(path: folder.path)
      #expect(state.handedOver == ["corp", "plain", "ssl"] && state.recoveryLog.takeHandOver() == left)
      #expect(state.handedOver.isEmpty && state.recoveryLog.takeHandOver().tunnels.isEmpty && names(in: folder.path) == ["lock"])
    }
    // Links of the first version have the names of their tunnels.
    left.tunnels = ["corp": HandOver.Tunnel(slot: 3, connectedSince: Timestamp(seconds: 7), link: "corp")]
    for tunnel: JSON in [["slot": 3, "since": 7], ["slot": 3, "since": 7, "link": "corp", "later": ["is ignored"]]] {
      let note: JSON = ["boot": .string(bootID), "tunnels": ["corp": tunnel]]
      try TextFile.replace("\(folder.path)/hand-over", with: Note.encode(note, name: "hand-over"), mode: 0o600)
      #expect(try StateFolder(path: folder.path).recoveryLog.takeHandOver() == left, "\(tunnel)")
    }
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
    var child: Int32 = 0
    var isLocked = false
    // On a busy machine it may come and go between two looks.
    for _ in 0..<20 where !isLocked {
      child = try SpawnedProgram(
        "flock", ["flock", folder.path + "/lock", "sleep", "0.3"], environment: ["PATH=/usr/bin:/bin"],
        descriptors: [.nothing, .nothing, .nothing], company: .group
      ).start()
      repeat {
        isLocked = flock(number, LOCK_SH | LOCK_NB) != 0
        if isLocked { break }
        flock(number, LOCK_UN)
        usleep(1000)
      } while waitpid(child, nil, WNOHANG) == 0
    }
    try #require(isLocked)
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
      let (links, commands, overrides) = (journal.unfinishedLinks(), journal.startedCommands(), journal.overrides())
      #expect(links == (name == "link-corp" ? [] : ["corp"]))
      #expect(commands == (name == "command-vpn" ? [:] : ["vpn": command]))
      #expect(overrides == (name == "holds.json" ? [:] : ["corp": override]))
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
    #expect(journal.overrides() == ["corp": override] && journal.troubles() == [])
  }

  @Test("notes with times in seconds, as earlier versions wrote them, are read after an upgrade") func upgrade() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try Folder.make(path, mode: 0o700)
    let boot = String(decoding: try TextFile.read("/proc/sys/kernel/random/boot_id").dropLast(), as: UTF8.self)
    let network = #"{"link":"wlan0","type":"wifi","ssid":"Cafe","gateways":{"192.0.2.1":"02:00:5e:00:00:01","192.0.2.2":null}}"#
    let notes = [
      "holds.json": """
      {"corp":{"up":true,"since":5,"until":{"time":99},"reason":"why not"},"home":{"up":false,"since":6,"until":"resume","reason":null},\
      "lab":{"up":false,"since":7,"until":{"network":\(network)},"reason":null}}
      """,
      "command-vpn": """
      {"boot":"\(boot)","up":["up"],"down":["/usr/bin/down","it"],"status":[],"interface":"vpn0","timeout":7}
      """,
      "policies":
        #"{"since":8,"files":[{"path":"/a.yaml","since":9,"names":["a"],"text":"x"},{"path":"/b","since":10,"names":[],"bytes":"ff"}]}"#,
      "trial": #"{"boot":"\#(boot)","until":9000000000000000000}"#,
    ]
    for (name, text) in notes {
      let body = Array((text + "\n").utf8)
      let head = "roamward note 1 crc32 \(Checksum.text(of: Array(name.utf8) + [0] + body))\n"
      try TextFile.replace("\(path)/\(name)", with: Array(head.utf8) + body, mode: 0o600)
    }
    let state = try StateFolder(path: path)
    let journal = state.recoveryLog
    #expect(journal.troubles() == [] && journal.startedCommands() == ["vpn": command])
    let overrides = journal.overrides()
    #expect(overrides["corp"] == override && overrides["home"] == ManualOverride(wantsUp: false, since: 6, lifetime: .resume))
    guard case .network(let identity)? = overrides["lab"]?.lifetime else { Issue.record("\(overrides)"); return }
    #expect(identity.link == "wlan0" && identity.ssid?.description == "Cafe" && identity.gateways.count == 2)
    #expect(identity.gateways[Sample.address("192.0.2.1")]??.description == "02:00:5e:00:00:01")
    #expect(state.trialNote == .until(Moment(nanoseconds: 9_000_000_000_000_000_000)))
    let kept = try #require(state.lastKnownGoodPolicies)
    #expect(kept.since == 8 && kept.files["/a.yaml"]?.since == 9 && kept.files["/a.yaml"]?.file.bytes == Array("x".utf8))
    #expect(kept.files["/b"]?.file.bytes == [0xff])

    // Notes that this version writes are read back unchanged.
    journal.saveOverrides(overrides)
    journal.recordCommand("vpn", command)
    state.put(kept)
    state.put(.until(Moment(nanoseconds: 9_000_000_000_000_000_000)))
    let disk = NotesOnDisk(path)
    #expect(
      disk.overrides == overrides && disk.startedCommands == ["vpn": command] && disk.lastKnownGoodPolicies == kept
        && disk.trial == state.trialNote)
    for name in notes.keys {
      let text = String(decoding: try TextFile.read("\(path)/\(name)"), as: UTF8.self)
      #expect(name == "trial" || !text.contains("\"since\":5") && !text.contains("\"timeout\":"), "\(text)")
    }
    #expect(String(decoding: try TextFile.read("\(path)/holds.json"), as: UTF8.self).contains("1970-01-01T00:00:05.000Z"))
  }

  @Test("of policies write only what changed in a large set, and are read to the same set") func changesOfPolicies() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    func files(_ numbers: Range<Int>, _ version: Int) -> [LastKnownGoodPolicies.File] {
      numbers.map {
        LastKnownGoodPolicies.File(ReadFile(path: "/p/\($0)", bytes: Array("\(version)\n".utf8), names: []), since: Int64(version))
      }
    }
    func put(_ files: [LastKnownGoodPolicies.File], since: Int64) throws {
      let set = LastKnownGoodPolicies(files, since: since)
      let state = try StateFolder(path: path)
      state.put(set)
      #expect(state.isWritten(LastKnownGoodPolicies.noteName) && NotesOnDisk(path).lastKnownGoodPolicies == set)
    }
    func text(_ name: String) throws -> [UInt8] { try TextFile.read("\(path)/\(name)") }
    try put(files(0..<200, 1), since: 1)
    let whole = try text("policies")
    try put(files(0..<199, 1) + files(199..<201, 2), since: 2)
    try put(files(0..<199, 1) + files(199..<210, 3), since: 3)
    #expect(try text("policies") == whole)
    let changes = try text("policies-changes")
    // Too many changes.
    try put(files(0..<200, 4), since: 4)
    #expect(try text("policies") != whole && !names(in: path).contains("policies-changes"))
    // As after a kill between the two notes: changes of an older set are void.
    try TextFile.replace("\(path)/policies-changes", with: changes, mode: 0o600)
    #expect(NotesOnDisk(path).lastKnownGoodPolicies == LastKnownGoodPolicies(files(0..<200, 4), since: 4))
    try put(files(0..<199, 4) + files(199..<200, 5), since: 5)
    #expect(names(in: path).contains("policies-changes"))
    // The copy of a removed file goes at once, and so does the old version of a file with keys.
    try put(files(0..<199, 4), since: 5)
    #expect(!names(in: path).contains("policies-changes"))
    let keys = LastKnownGoodPolicies.File(ReadFile(path: "/p/keys", bytes: [1], names: []), since: 5)
    let policy = LastKnownGoodPolicies.File(ReadFile(path: "/p/policy", bytes: [1], names: ["/p/keys"]), since: 5)
    try put(files(0..<199, 4) + [keys, policy], since: 6)
    #expect(names(in: path).contains("policies-changes"))
    try put(files(0..<200, 5) + [keys, policy], since: 6)
    try put(files(0..<200, 5) + [LastKnownGoodPolicies.File(ReadFile(path: "/p/keys", bytes: [2], names: []), since: 7), policy], since: 7)
    #expect(!names(in: path).contains("policies-changes"))
    // A small set has one note.
    try put(files(0..<3, 6), since: 6)
    #expect(!names(in: path).contains("policies-changes"))
    // Damage of the changes leaves the whole set, which was good before; damage of the whole set leaves nothing.
    try put(files(0..<200, 7), since: 7)
    try put(files(0..<199, 7) + files(199..<200, 8), since: 8)
    try TextFile.replace("\(path)/policies-changes", with: changes.dropLast() + [0], mode: 0o600)
    #expect(NotesOnDisk(path).lastKnownGoodPolicies == LastKnownGoodPolicies(files(0..<200, 7), since: 7))
    try put(files(0..<199, 7) + files(199..<200, 9), since: 9)
    try TextFile.replace("\(path)/policies", with: [0], mode: 0o600)
    #expect(NotesOnDisk(path).lastKnownGoodPolicies == nil)
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
        journal.recordLink("home")
        #expect(journal.unfinishedLinks() == ["corp", "home"])
        #expect(journal.troubles().first?.contains("No space left on device") == true)
        unlink(path + "/filler")
        #expect(journal.troubles() == [])
      }
      #expect(try StateFolder(path: path + "/state").recoveryLog.unfinishedLinks() == ["corp", "home"])
      // Read-only, with a lock file and without, and without a folder.
      try #require(mount(nil, path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
      let first = try StateFolder(path: path + "/state")
      first.recoveryLog.recordLink("more")
      #expect(first.recoveryLog.unfinishedLinks() == ["corp", "home", "more"])
      #expect(first.recoveryLog.troubles().first?.contains("Read-only file system") == true)
      #expect(throws: SystemError.self) { try StateFolder(path: path + "/state") }
      let other = try StateFolder(path: path + "/other")
      other.recoveryLog.recordLink("x")
      #expect(other.recoveryLog.troubles().first?.contains("Read-only file system") == true)
    }
  }
}
