import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@testable import HostDNS

/// A folder with an /etc and a state folder in it, and the backend that works there.
struct ResolvConfHost {
  let folder: TemporaryFolder
  var path: String { folder.path + "/etc/resolv.conf" }
  var state: String { folder.path + "/state" }
  var backend: ResolvConfBackend { ResolvConfBackend(path: path, stateDirectory: state) }

  init() throws {
    folder = try TemporaryFolder()
    for name in ["/etc", "/state"] where mkdir(folder.path + name, 0o755) != 0 { throw SystemError.last("mkdir") }
  }

  func put(_ text: String, mode: UInt32 = 0o644, owner: (UInt32, UInt32)? = nil) throws {
    try TextFile.replace(path, with: Array(text.utf8), mode: mode, owner: owner.map { (user: $0.0, group: $0.1) })
  }

  /// The file with its mode and owner; `nil` where there is none.
  var found: String? {
    guard case .file(let bytes, let file) = ResolvConfPlace(path) else { return nil }
    return "\(String(file.mode, radix: 8)) \(file.user):\(file.group) \(String(decoding: bytes, as: UTF8.self))"
  }

  /// The files beside resolv.conf itself.
  var leftovers: [String] { names(in: state) + names(in: folder.path + "/etc").filter { $0 != "resolv.conf" } }
}

let tunnelServers = ResolvConf(nameServers: [IPAddress(v4: 0x0a00_0001)], searchDomains: [])
let otherServers = ResolvConf(nameServers: [IPAddress(v4: 0x0a00_0002)], searchDomains: [])

/// Torn at any byte, with any bit flipped, longer, or zeroes.
private func damages(of whole: [UInt8]) -> [[UInt8]] {
  let flipped = (0..<8 * whole.count).map { bit in
    var bytes = whole
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    return bytes
  }
  return (0..<whole.count).map { Array(whole[..<$0]) } + flipped + [whole + [0], [UInt8](repeating: 0, count: whole.count)]
}

@Suite("The resolv.conf backend")
struct ResolvConfBackendTests {
  private let host: ResolvConfHost
  private var owner: String { "\(geteuid()):\(getegid())" }

  init() throws { host = try ResolvConfHost() }

  @Test("gives back the very bytes and the mode", arguments: [0o644, 0o755, 0o600])
  func roundTrip(mode: UInt32) throws {
    try host.put("# a comment\r\nnameserver 192.0.2.1\noptions ndots:3", mode: mode)
    let before = host.found
    try host.backend.write(tunnelServers)
    #expect(host.found == "\(String(mode, radix: 8)) \(owner) \(tunnelServers.rendered)")
    #expect(host.backend.observe() == .file(tunnelServers.rendered))
    #expect(host.backend.underlayText() == .known("# a comment\r\nnameserver 192.0.2.1\noptions ndots:3"))
    try host.backend.restore()
    #expect(host.found == before)
    #expect(host.leftovers == [])
  }

  @Test("gives back bytes that are no text")
  func noText() throws {
    try TextFile.replace(host.path, with: [0xff, 0, 10, 10, 0xfe], mode: 0o644)
    try host.backend.write(tunnelServers)
    try host.backend.restore()
    #expect(try TextFile.read(host.path) == [0xff, 0, 10, 10, 0xfe])
  }

  @Test("keeps the owner", .enabled(if: geteuid() == 0, "changing owners needs root"))
  func keepsOwner() throws {
    try host.put("nameserver 192.0.2.1\n", mode: 0o664, owner: (1234, 4321))
    try host.backend.write(tunnelServers)
    #expect(host.found == "664 1234:4321 \(tunnelServers.rendered)")
    try host.backend.restore()
    #expect(host.found == "664 1234:4321 nameserver 192.0.2.1\n")
  }

  @Test("removes ours where there was none")
  func absence() throws {
    #expect(host.backend.observe() == .absent)
    #expect(host.backend.underlayText() == .known(""))
    try host.backend.write(tunnelServers)
    #expect(host.found == "644 \(owner) \(tunnelServers.rendered)")
    #expect(host.backend.underlayText() == .known(""))
    try host.backend.restore()
    #expect(host.found == nil)
    #expect(host.leftovers == [])
  }

  @Test("writing again, with the same or other servers, keeps the first original; restoring again does nothing")
  func again() throws {
    try host.put("nameserver 192.0.2.1\n")
    for servers in [tunnelServers, tunnelServers, otherServers] { try host.backend.write(servers) }
    #expect(host.backend.observe() == .file(otherServers.rendered))
    for _ in 0..<2 {
      try host.backend.restore()
      #expect(host.backend.observe() == .file("nameserver 192.0.2.1\n"))
    }
  }

  @Test("a file that took the place of ours stays; written over, it is the new original")
  func replacedByOthers() throws {
    try host.put("nameserver 192.0.2.1\n")
    try host.backend.write(tunnelServers)
    try host.put("nameserver 192.0.2.2\n")
    #expect(host.backend.underlayText() == .known("nameserver 192.0.2.2\n"))
    try host.backend.write(otherServers)
    try host.backend.restore()
    #expect(host.backend.observe() == .file("nameserver 192.0.2.2\n"))

    try host.backend.write(tunnelServers)
    try host.put("nameserver 192.0.2.3\n")
    try host.backend.restore()
    #expect(host.backend.observe() == .file("nameserver 192.0.2.3\n"))
    #expect(host.leftovers == [])
  }

  @Test("a file that another program has truncated and is about to write is the original as it is then")
  func beingWritten() throws {
    try host.put("nameserver 192.0.2.1\n")
    try host.backend.write(tunnelServers)
    // As dhclient's script does, whose `cat new > file` has just begun.
    try TextFile.overwrite(host.path, with: [])
    var files = FileOperations.real
    var waits = 0
    files.wait = { [path = host.path] in
      waits += 1
      if waits == 2 { try? TextFile.overwrite(path, with: Array("nameserver 192.0.2.2\n".utf8)) }
    }
    let backend = ResolvConfBackend(path: host.path, stateDirectory: host.state, files: files)
    try backend.write(tunnelServers)
    #expect(waits == 2 && backend.underlayText() == .known("nameserver 192.0.2.2\n"))
    try backend.restore()
    #expect(backend.observe() == .file("nameserver 192.0.2.2\n"))

    // One that stays empty is what somebody wants.
    try host.put("")
    files.wait = { waits += 1 }
    try ResolvConfBackend(path: host.path, stateDirectory: host.state, files: files).write(tunnelServers)
    #expect(waits == 22)
    try host.backend.restore()
    #expect(host.backend.observe() == .file(""))
  }

  @Test("where somebody removed ours, the original comes back all the same")
  func removedByOthers() throws {
    try host.put("nameserver 192.0.2.1\n", mode: 0o600)
    try host.backend.write(tunnelServers)
    try TextFile.remove(host.path)
    try host.backend.write(tunnelServers)
    try TextFile.remove(host.path)
    try host.backend.restore()
    #expect(host.found == "600 \(owner) nameserver 192.0.2.1\n")
  }

  @Test("ours with nothing kept is never taken for an original, and goes")
  func nothingKept() throws {
    try host.put(tunnelServers.rendered)
    guard case .unknown = host.backend.underlayText() else { return #expect(Bool(false), "there is nothing to know") }
    try host.backend.write(otherServers)
    try host.backend.restore()
    #expect(host.found == nil)
  }

  @Test("a kept original that is torn at any byte, or has any bit flipped, is never put back: ours goes, and that is told")
  func damaged() throws {
    try host.put("nameserver 192.0.2.1\n", mode: 0o640)
    let kept = host.state + "/resolv.conf.kept"
    try host.backend.write(tunnelServers)
    let whole = try TextFile.read(kept)
    try host.backend.restore()
    for version in damages(of: whole) { #expect(KeptResolvConf(version) == nil) }
    for version in [[], Array(whole.dropLast()), [UInt8](repeating: 0, count: whole.count)] {
      try TextFile.replace(host.path, with: Array(tunnelServers.rendered.utf8), mode: 0o644)
      try TextFile.replace(kept, with: version, mode: 0o644)
      let backend = host.backend
      guard case .unknown = backend.underlayText() else { return #expect(Bool(false), "there is nothing to know") }
      try backend.recover()
      #expect(host.found == "644 \(owner) \(tunnelServers.rendered)")
      #expect(backend.troubles.count == 1 && backend.troubles[0].contains("\(kept) is damaged"))
      #expect(try TextFile.read(host.state + "/damaged-resolv.conf.kept") == version)
      try backend.write(otherServers)
      try backend.restore()
      #expect(host.found == nil)
    }
  }

  @Test("a damaged one beside a file that others have written since is dropped without a word")
  func damagedAndOutdated() throws {
    try host.put("nameserver 192.0.2.9\n")
    try TextFile.replace(host.state + "/resolv.conf.kept", with: [1, 2, 3], mode: 0o644)
    let backend = host.backend
    try backend.recover()
    #expect(host.leftovers == [] && backend.troubles == [] && backend.observe() == .file("nameserver 192.0.2.9\n"))
  }

  @Test("what version 0.1 kept is put back")
  func olderVersion() throws {
    try host.put(tunnelServers.rendered)
    let old = "roamward kept resolv.conf, version 1\nmode 640 user \(geteuid()) group \(getegid())\nnameserver 192.0.2.1\n"
    try TextFile.replace(host.state + "/resolv.conf.kept", with: Array(old.utf8), mode: 0o644)
    try host.backend.restore()
    #expect(host.found == "640 \(owner) nameserver 192.0.2.1\n")
  }

  @Test(
    "a symbolic link belongs to whom its target tells, and stays",
    arguments: [
      ("../run/systemd/resolve/stub-resolv.conf", ", which belongs to systemd-resolved"),
      ("/run/NetworkManager/x", ", which belongs to NetworkManager"),
      ("/run/resolvconf/resolv.conf", ", which belongs to resolvconf"), ("elsewhere", ""),
    ])
  func link(target: String, owner: String) throws {
    try shell("ln -s \(target) \(host.path)")
    let reason = "\(host.path) is a symbolic link to \(target)\(owner)"
    #expect(host.backend.observe() == .untouchable(reason: reason))
    #expect(throws: ResolvConfError.untouchable(reason: reason)) { try host.backend.write(tunnelServers) }
    try host.backend.restore()
    #expect(try shell("readlink \(host.path)") == target + "\n")
    #expect(host.leftovers == [])
  }

  @Test("behind a link the underlay's servers are read; behind resolved's stub, its upstream servers")
  func throughLink() throws {
    try shell("mkdir -p \(host.folder.path)/run/systemd/resolve; ln -s ../run/systemd/resolve/stub-resolv.conf \(host.path)")
    let folder = host.folder.path + "/run/systemd/resolve"
    try TextFile.replace(folder + "/stub-resolv.conf", with: Array("nameserver 127.0.0.53\n".utf8), mode: 0o644)
    try TextFile.replace(folder + "/resolv.conf", with: Array("nameserver 192.0.2.1\n".utf8), mode: 0o644)
    #expect(host.backend.underlayText() == .known("nameserver 192.0.2.1\n"))
    #expect(host.backend.watchPaths.map(\.path) == [host.folder.path + "/etc", host.folder.path + "/etc/../run/systemd/resolve"])
  }

  @Test("a link in the place of ours stays")
  func linkInPlaceOfOurs() throws {
    try host.put("nameserver 192.0.2.1\n")
    try host.backend.write(tunnelServers)
    try shell("ln -sf elsewhere \(host.path)")
    try host.backend.restore()
    #expect(try shell("readlink \(host.path)") == "elsewhere\n")
    #expect(host.leftovers == [])
  }

  /// A backend before whose every change of resolv.conf something happens there.
  private func disturbed(_ times: Int = 1, by disturbance: @escaping () -> Void) -> ResolvConfBackend {
    var files = FileOperations.real
    var left = times
    let (exchange, takeAway) = (files.exchange, files.takeAway)
    func disturb() {
      if left > 0 { disturbance() }
      left -= 1
    }
    files.exchange = { path, bytes, file, isExpected throws(SystemError) in
      disturb()
      return try exchange(path, bytes, file, isExpected)
    }
    files.takeAway = { path, isExpected throws(SystemError) in
      disturb()
      return try takeAway(path, isExpected)
    }
    return ResolvConfBackend(path: host.path, stateDirectory: host.state, files: files)
  }

  @Test("a link that is put there between the look and the change stays", arguments: ["nameserver 192.0.2.1\n", nil])
  func linkInBetween(original: String?) throws {
    if let original { try host.put(original) }
    let putLink = { _ = try? shell("ln -sf elsewhere \(host.path)") }
    #expect(throws: ResolvConfError.untouchable(reason: "\(host.path) is a symbolic link to elsewhere")) {
      try disturbed(by: putLink).write(tunnelServers)
    }
    #expect(try shell("readlink \(host.path)") == "elsewhere\n")
    #expect(host.leftovers == [])

    try shell("rm \(host.path)")
    if let original { try host.put(original) }
    try host.backend.write(tunnelServers)
    try disturbed(by: putLink).restore()
    #expect(try shell("readlink \(host.path)") == "elsewhere\n")
    #expect(host.leftovers == [])
  }

  @Test("a file that is put there between the look and the change is the one that is given back") func fileInBetween() throws {
    try host.put("nameserver 192.0.2.1\n")
    let putFile = { try? host.put("nameserver 192.0.2.2\n") }
    try disturbed(by: { putFile() }).write(tunnelServers)
    #expect(host.backend.observe() == .file(tunnelServers.rendered))
    try host.backend.restore()
    #expect(host.backend.observe() == .file("nameserver 192.0.2.2\n"))

    try host.put("nameserver 192.0.2.1\n")
    try host.backend.write(tunnelServers)
    try disturbed(by: { putFile() }).restore()
    #expect(host.backend.observe() == .file("nameserver 192.0.2.2\n"))
    #expect(host.leftovers == [])
  }

  @Test("somebody who writes at every moment is left alone, and told of") func everyMoment() throws {
    try host.put("nameserver 192.0.2.250\n")
    var count = 0
    let busy = disturbed(100) {
      count += 1
      try? host.put("nameserver 192.0.2.\(count % 200)\n")
    }
    #expect(throws: ResolvConfError.untouchable(reason: "another program keeps replacing \(host.path)")) {
      try busy.write(tunnelServers)
    }
    #expect(host.backend.observe() == .file("nameserver 192.0.2.\(count)\n"))
    #expect(count == 5)
  }

  @Test("killed with somebody's link, or newer file, in hand: the next start puts it back", arguments: [true, false])
  func killedInBetween(isLink: Bool) throws {
    try host.put("nameserver 192.0.2.1\n")
    try host.backend.write(tunnelServers)
    let hand = host.path + ".roamward-new"
    if isLink {
      try shell("ln -s elsewhere \(hand)")
    } else {
      try TextFile.replace(hand, with: Array("nameserver 192.0.2.2\n".utf8), mode: 0o644)
    }
    try host.backend.recover()
    #expect(try shell(isLink ? "readlink \(host.path)" : "cat \(host.path)") == (isLink ? "elsewhere\n" : "nameserver 192.0.2.2\n"))
    #expect(host.leftovers == [])
  }

  @Test(
    "with somebody who makes it a link and a file in turn, all the while, no link is ever replaced; by rename(2) alone it would be",
    arguments: [true, false])
  func race(isCareful: Bool) throws {
    var files = FileOperations.real
    if !isCareful {
      files.exchange = { path, bytes, file, _ throws(SystemError) in
        try TextFile.replace(path, with: bytes, mode: file.mode)
        return true
      }
    }
    let backend = ResolvConfBackend(path: host.path, stateDirectory: host.state, files: files)
    try host.put("nameserver 192.0.2.1\n")
    // A link stays for 2 ms, which is many of the agent's changes; gone at the end of that, and some time later still, it was replaced. The
    // agent may have it in hand for long on a busy machine.
    let racer =
      "cd \(host.folder.path)/etc; lost=0; for i in $(seq 60); do ln -s elsewhere l; mv -T l resolv.conf; sleep 0.002; "
      + "for n in $(seq \(isCareful ? 500 : 1)); do [ -L resolv.conf ] && break; sleep 0.02; done; "
      + "[ -L resolv.conf ] || lost=$((lost + 1)); "
      + "echo nameserver 192.0.2.$((i % 200 + 1)) >f; mv -T f resolv.conf; done; echo $lost"
    guard let stream = popen(racer, "re") else { throw SystemError.last("popen") }
    var said = ""
    let watched = fileno(stream)
    var (writes, refusals) = (0, 0)
    while true {
      var poller = pollfd(fd: watched, events: Int16(POLLIN), revents: 0)
      if poll(&poller, 1, 0) > 0 { break }
      do {
        try backend.write(tunnelServers)
        writes += 1
      } catch {
        refusals += 1
      }
      try? backend.restore()
    }
    while case let byte = fgetc(stream), byte != EOF { said.append(Character(Unicode.Scalar(UInt8(truncatingIfNeeded: byte)))) }
    pclose(stream)
    #expect((said == "0\n") == isCareful, "\(said) of 60 links")
    #expect(writes > 0 && refusals > 0, "\(writes) \(refusals)")
  }

  @Test("a folder, or a file that cannot be written, is nobody's to touch")
  func others() throws {
    try shell("mkdir \(host.path)")
    #expect(host.backend.observe() == .untouchable(reason: "\(host.path) is a directory"))
    #expect(throws: ResolvConfError.self) { try host.backend.write(tunnelServers) }
    #expect(throws: ResolvConfError.self) { try host.backend.restore() }
  }

  @Test("an immutable file is nobody's to touch", .enabled(if: canMakeImmutable, "no chattr here"))
  func immutable() throws {
    try host.put("nameserver 192.0.2.1\n")
    try shell("chattr +i \(host.path)")
    defer { _ = try? shell("chattr -i \(host.path)") }
    guard case .untouchable = host.backend.observe() else { return #expect(Bool(false), "it can be written") }
  }

  private static let canMakeImmutable = (try? shell("f=$(mktemp) && chattr +i $f && chattr -i $f; s=$?; rm -f $f; exit $s")) != nil
}
