import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import TestSupport
import Testing

@testable import HostDNS

/// The names that are opened below some folders, as inotify(7) reports them.
private struct OpenedFiles {
  private let descriptor: FileDescriptor

  init(in folders: [String]) throws {
    descriptor = FileDescriptor(owning: inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)))
    for folder in folders { #expect(inotify_add_watch(descriptor.number, folder, UInt32(IN_OPEN)) >= 0) }
  }

  /// The opened names since the last call; the folder itself is empty.
  func take() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    while let bytes = try descriptor.read(), !bytes.isEmpty {
      var place = 0
      while place + 16 <= bytes.count {
        let length = Int(bytes[place + 12]) | Int(bytes[place + 13]) << 8
        counts[String(decoding: bytes[(place + 16)..<(place + 16 + length)].prefix { $0 != 0 }, as: UTF8.self), default: 0] += 1
        place += 16 + length
      }
    }
    return counts
  }
}

@Suite("The files of an observation") struct ResolverReadingTests {
  @Test("each is opened once, however much depends on it; the result is that of the backends", arguments: [false, true])
  func once(isOurs: Bool) throws {
    let host = try ResolvConfHost()
    try host.put("nameserver 192.0.2.1\n")
    let resolver = HostResolver(path: host.path, stateDirectory: host.state, on: try EventLoop())
    if isOurs { try resolver.file.write(tunnelServers) }
    let (file, text) = (resolver.file.observe(), resolver.file.underlayText())
    let opened = try OpenedFiles(in: [host.folder.path + "/etc", host.state])

    let reading = resolver.read()
    #expect(reading.file.observed == file && reading.file.underlayText == text)
    #expect(resolver.ownServers(by: reading).contains(NameServerSettings.address))
    let observed = resolver.observe([:], by: reading)
    #expect(observed.facts.original?.content.nameServers.map(\.description) == ["192.0.2.1"])
    #expect(observed.effectiveServers.map(\.description) == [isOurs ? "10.0.0.1" : "192.0.2.1"])
    let counts = try opened.take()
    #expect(counts == ["resolv.conf": 1, "": 1].merging(isOurs ? ["resolv.conf.kept": 1] : [:]) { first, _ in first })
  }
}
