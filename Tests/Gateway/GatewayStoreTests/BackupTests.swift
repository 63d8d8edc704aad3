import GatewayCore
import GatewayHost
import GatewaySource
import GatewayStore
import KernelModel
import LinuxIO
import NetworkTypes
import SeededRandom
import TestKit
import TestSupport
import Testing

/// A backup is whole or refused, and a restore leaves the old gateway or the new one.
@Suite struct BackupTests {
  /// A gateway with files of each kind.
  private struct Original {
    let folder: TemporaryFolder
    var state: StateFolder { StateFolder("\(folder.path)/state") }
    var place: GatewayPlace { GatewayPlace(state, declared: "\(folder.path)/etc") }
    var backup: String { "\(folder.path)/backup" }

    init() throws {
      folder = try TemporaryFolder()
      try state.make()
      let key = try #require(try state.makePrivateKey().publicKey)
      let (endpoint, link) = (try #require(Endpoint("vpn.example.com:51820")), try #require(InterfaceName("wg-gateway")))
      let (lan, prefix) = (try #require(GatewayName("lan")), try #require(IPPrefix("10.77.0.0/24")))
      let (alice, laptop) = (try #require(GatewayName("alice")), try #require(DevicePath("alice/laptop")))
      let device = try #require(WireGuardKey(bytes: [UInt8](repeating: 1, count: 32)))
      try state.store(creating: true).change(as: "root", at: 1) { work throws(GatewayError) in
        work.setSite(endpoint, publicKey: key, link: link)
        try work.addPool(lan, prefix, isTranslated: true)
        try work.addUser(alice)
        _ = try work.addDevice(laptop, publicKey: device)
      }
      for setting in SettingFile.allCases { try state.set(setting, to: "7\n") }
      // Of this machine alone.
      for name in ["gateway-id", "replica.db", "counts", "served"] { try TextFile.create("\(state.path)/\(name)", with: [1], mode: 0o600) }
      try shell(
        "mkdir -p '\(folder.path)/etc/more' && cd '\(folder.path)/etc' && echo 'version: 1' >10-a.yaml && chmod 640 10-a.yaml && : >more/mask"
          + " && chmod 644 more/mask && ln -s 10-a.yaml 20-link.yaml && mkfifo pipe")
    }

    @discardableResult func write(_ passphrase: String? = nil, replacing: Bool = false) throws -> BackupReport {
      try GatewayBackup(place, passphrase: passphrase.map { Array($0.utf8) }, release: "1.2.3", cheap: true)
        .write(to: backup, database: nil, replacing: replacing).report
    }
  }

  /// The place on another machine.
  private func bare(_ folder: TemporaryFolder) -> GatewayPlace {
    GatewayPlace(StateFolder("\(folder.path)/lib/state/"), declared: "\(folder.path)/etc/gateway")
  }

  @discardableResult private func restore(
    _ file: String, to place: GatewayPlace, replacing: Bool = false, passphrase: String = "", isTrial: Bool = false
  ) throws -> GatewayRestore.Effect {
    try GatewayRestore(file, to: place, replacing: replacing) { Array(passphrase.utf8) }.run(isTrial: isTrial)
  }

  @Test("a backup has everything that makes the gateway itself, and a bare machine becomes it", arguments: [nil, "a passphrase"])
  func whole(passphrase: String?) throws {
    let (original, other) = (try Original(), try TemporaryFolder())
    try original.write(passphrase)
    #expect(try shell("stat -c %a '\(original.backup)'") == "600\n")
    #expect(Folder.names(in: original.folder.path) == ["backup", "etc", "state"])
    #expect(!Folder.names(in: original.state.path).contains("backup.new"))
    if passphrase == nil {
      let list = try shell("tar tf '\(original.backup)'").split(separator: "\n").map(String.init)
      let settings = SettingFile.allCases.map(\.rawValue)
      let declared = ["declared/10-a.yaml", "declared/20-link.yaml", "declared/more/mask"]
      #expect(list == ["roamward-gateway-backup"] + (settings + declared + ["gateway.db", "private.key"]).sorted())
    } else {
      #expect((try? shell("grep -q private.key '\(original.backup)'")) == nil)
    }
    let place = bare(other)
    let trial = try restore(original.backup, to: place, passphrase: passphrase ?? "", isTrial: true)
    #expect(!trial.summary.isEmpty && Folder.names(in: "\(other.path)/lib").isEmpty && Folder.names(in: "\(other.path)/etc").isEmpty)
    let effect = try restore(original.backup, to: place, passphrase: passphrase ?? "")
    #expect(effect.summary == trial.summary && effect.notes == trial.notes && !effect.isFinished)
    let lines = effect.summary.lines.map { "\($0.title) \($0.after ?? "")" }
    #expect(["users 1", "devices 1", "endpoint vpn.example.com:51820"].allSatisfy(lines.contains))
    let (before, after) = (try original.state.store().load(), try place.folder.store().load())
    #expect(before == after)
    #expect(try place.folder.privateKey()?.publicKey == original.state.privateKey()?.publicKey)
    #expect(try place.folder.store().problems() == [])
    #expect(try place.folder.store().newestEntries(1).first?.record.verb == "restore")
    #expect(try SettingFile.allCases.allSatisfy { try $0.text(in: place.folder) == "7\n" })
    #expect(Folder.names(in: place.folder.path) == (SettingFile.allCases.map(\.rawValue) + ["gateway.db", "lock", "private.key"]).sorted())
    #expect(
      try shell("cd '\(other.path)/etc/gateway' && stat -c '%a %n' * more/*")
        == "640 10-a.yaml\n640 20-link.yaml\n755 more\n644 more/mask\n")
    #expect(Folder.names(in: "\(other.path)/lib") == ["state"] && Folder.names(in: "\(other.path)/etc") == ["gateway"])
  }

  @Test("a file that is there, and a gateway that is there, stay unless they are to be replaced, and are kept then") func present() throws {
    let original = try Original()
    try original.write()
    #expect(throws: GatewayError.self) { try original.write() }
    try original.write(replacing: true)
    try original.state.store().change(as: "root", at: 2) { work throws(GatewayError) in try work.addUser(GatewayName("bob")!) }
    #expect(throws: GatewayError.self) { try restore(original.backup, to: original.place) }
    let effect = try restore(original.backup, to: original.place, replacing: true)
    #expect(effect.summary.lines.contains { $0.title == "users" && $0.before == "2" && $0.after == "1" })
    #expect(try original.state.store().load().directory.users.count == 1)
    let aside = Folder.names(in: original.folder.path, withPrefix: "state.")
    #expect(aside.count == 1 && effect.notes.contains { $0.contains(aside.first ?? "-") })
    #expect(try StateFolder("\(original.folder.path)/\(aside.first ?? "")").store().load().directory.users.count == 2)
    #expect(Folder.names(in: original.folder.path, withPrefix: "etc.").count == 1)
    #expect(FileNature.linkTarget(of: "\(original.folder.path)/etc/20-link.yaml") == nil)
  }

  @Test("declared files that are there stay") func declared() throws {
    let (original, other) = (try Original(), try TemporaryFolder())
    try original.write()
    try shell("mkdir -p '\(other.path)/etc/gateway' && echo 'version: 1' >'\(other.path)/etc/gateway/own.yaml'")
    let effect = try restore(original.backup, to: bare(other))
    #expect(effect.notes.contains { $0.contains("has files, which are left") && $0.contains("10-a.yaml") })
    #expect(Folder.names(in: "\(other.path)/etc/gateway") == ["own.yaml"])
  }

  @Test("a gateway that runs is not replaced") func running() throws {
    let original = try Original()
    try original.write()
    let lock = try original.state.lock()
    let error = #expect(throws: GatewayError.self) { try restore(original.backup, to: original.place, replacing: true) }
    #expect(error?.text.hasPrefix("a gateway runs with") == true)
    withExtendedLifetime(lock) {}
  }

  @Test("the wrong passphrase, and no passphrase, are refused") func passphrase() throws {
    let (original, other) = (try Original(), try TemporaryFolder())
    try original.write("right passphrase")
    for wrong in ["wrong passphrase", ""] {
      let error = #expect(throws: GatewayError.self) { try restore(original.backup, to: bare(other), passphrase: wrong) }
      #expect(error?.text == "the passphrase is wrong, or the backup is damaged")
    }
  }

  @Test(
    "costs that a file asks for are bounded before they are used",
    arguments: [(33, [UInt8](repeating: 255, count: 4)), (37, [0, 255, 0, 0])])
  func costs(place: Int, bytes: [UInt8]) throws {
    let (original, other) = (try Original(), try TemporaryFolder())
    try original.write("right passphrase")
    var file = try TextFile.read(original.backup, limit: 1 << 24)
    file.replaceSubrange(place..<place + 4, with: bytes)
    try TextFile.replace(original.backup, with: file, mode: 0o600)
    let error = #expect(throws: GatewayError.self) { try restore(original.backup, to: bare(other), passphrase: "right passphrase") }
    #expect(error?.text == "the backup is damaged: it asks for more work than any backup")
  }

  @Test(
    "whatever is cut off, added or changed, a backup is refused with a cure, and nothing is there afterwards",
    arguments: [nil, "a passphrase"])
  func mutations(passphrase: String?) throws {
    let (original, other) = (try Original(), try TemporaryFolder())
    try original.write(passphrase)
    let good = try TextFile.read(original.backup, limit: 1 << 24)
    var random = SplitMix64(seed: 40)
    let file = "\(other.path)/file"
    let lengths = [0, 1, 33, 34, 100, 511, 512, 513, 1024, good.count - 1, good.count - 512, good.count - 1024, good.count - 17]
    for round in 0..<400 {
      var bytes = good
      switch round {
      case 0..<lengths.count: bytes = Array(good.prefix(lengths[round]))
      case lengths.count: bytes += [0]
      case lengths.count + 1: bytes += [UInt8](repeating: 0, count: 512)
      case lengths.count + 2: bytes += good
      default:
        // The beginning has most of the format.
        let limit = random.chance(0.5) ? min(4096, bytes.count) : bytes.count
        let start = Int(random.next() % UInt64(limit))
        switch random.next() % 4 {
        case 0: bytes[start] ^= 1 << UInt8(random.next() % 8)
        case 1: bytes = Array(bytes.prefix(start))
        case 2: bytes.removeSubrange(start..<min(bytes.count, start + 1 + Int(random.next() % 1000)))
        default: bytes.insert(contentsOf: (0...random.next() % 1000).map { UInt8(truncatingIfNeeded: $0) }, at: start)
        }
      }
      guard bytes != good else { continue }
      try TextFile.replace(file, with: bytes, mode: 0o600)
      let error = #expect(throws: GatewayError.self) { try restore(file, to: bare(other), passphrase: passphrase ?? "") }
      #expect(error?.help != nil && !Folder.names(in: "\(other.path)/lib/state").contains("private.key"), "round \(round)")
      #expect(Folder.names(in: "\(other.path)/lib").allSatisfy { $0 == "state" }, "round \(round)")
      #expect(Folder.names(in: "\(other.path)/etc") == [], "round \(round)")
    }
    try restore(original.backup, to: bare(other), passphrase: passphrase ?? "")
  }

  @Test(
    "a list of files is read in its own form alone, and names lead out of no folder",
    arguments: [
      "declared/../x", "declared//x", "declared/./x", "declared/", "declared/a/..", "/etc/passwd", "lock", "store", "gateway.db-wal",
      "declared/\u{1}", "declared/" + String(repeating: "x", count: 100),
    ])
  func names(name: String) throws {
    let digest = [UInt8](repeating: 7, count: 32)
    func read(_ text: String) throws(GatewayError) -> BackupManifest {
      try BackupManifest(parsing: text, settings: ["pam"], GatewayStore.digest)
    }
    func manifest(_ more: [BackupManifest.Entry], mode: UInt16 = 0o600) -> BackupManifest {
      let own = ["gateway.db", "private.key"].map { BackupManifest.Entry(name: $0, mode: mode, size: 5, digest: digest) }
      return BackupManifest(made: Timestamp(seconds: 100), release: "1", database: "host=db.example", entries: own + more)
    }
    let good = manifest([BackupManifest.Entry(name: "declared/a/b c.yaml", mode: 0o644, size: 0, digest: digest)])
    #expect(try read(good.text(GatewayStore.digest)) == good)
    #expect(good.declared == ["a/b c.yaml"])
    // A connection string from another editor.
    for database in ["host=db.example\r", "host=db\r\n.example", "e\u{301}", "\u{0}"] {
      let odd = BackupManifest(made: Timestamp(seconds: 100), release: "1", database: database, entries: good.entries)
      #expect(try read(odd.text(GatewayStore.digest)) == odd)
    }
    let bad = [
      manifest([BackupManifest.Entry(name: name, mode: 0o600, size: 5, digest: digest)]), manifest([], mode: 0o644),
      manifest([BackupManifest.Entry(name: "private.key", mode: 0o600, size: 5, digest: digest)]),
      manifest([BackupManifest.Entry(name: "pam", mode: 0o600, size: 1 << 21, digest: digest)]),
      manifest([BackupManifest.Entry(name: "declared/x", mode: 0o4755, size: 1, digest: digest)]),
    ]
    for list in bad {
      #expect(throws: GatewayError.self) { try read(list.text(GatewayStore.digest)) }
    }
    let later = good.text(GatewayStore.digest).replacing("backup 1\n", with: "backup 2\n")
    let error = #expect(throws: GatewayError.self) { try read(later) }
    #expect(error?.help?.hasPrefix("update") == true)
  }
}
