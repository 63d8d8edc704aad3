import CSodium
import Glibc
import KernelModel
import KeyMemory
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import TunnelProviders

/// A network of one's own, and a /run, so that the host's engines and ours never meet. The body gets a folder.
func lab(_ body: (String) throws -> Void) throws {
  let folder = try TemporaryFolder()
  try inNamespaces(mounts: true) {
    try bind(folder.path, over: "/run")
    try body(folder.path)
  }
}

func start(_ link: String, program: String? = nil) throws {
  let result: Result<Void, ProviderError> = try onLoop { loop, done in
    let wireGuard = program.map { UserspaceWireGuard(on: loop, program: $0) } ?? UserspaceWireGuard(on: loop)
    wireGuard.start(link: link, then: done)
    return wireGuard
  }
  try result.get()
}

/// Two links that are up and keep a session with one another alive; comes back when the first has shaken hands. The provider serves
/// sockets to both while its loop runs.
func startPair(_ near: KeyPair, _ far: KeyPair) throws {
  let kept: Result<Void, ProviderError> = try onLoop { loop, done in
    let wireGuard = UserspaceWireGuard(on: loop)
    var sources: [Any] = []
    func configure(_ link: String, _ keys: KeyPair, port: UInt16, _ other: KeyPair, at endpoint: String) throws {
      let peer = WireGuardPeer(
        publicKey: other.publicKey, endpoint: Endpoint(endpoint), allowedIPs: ["10.0.0.0/8"].compactMap(IPPrefix.init),
        persistentKeepalive: 1)
      try wireGuard.configure(link, WireGuardDevice(keys: keys, port: port, peers: [peer]), observed: nil)
    }
    func look() {
      if ((try? wireGuard.read("rw0")) ?? nil)?.lastHandshake != nil { return done(.success(())) }
      sources = [try? loop.at(.now + .milliseconds(50)) { look() }].compactMap { $0 }
    }
    wireGuard.start(link: "rw0") { first in
      wireGuard.start(link: "rw1") { second in
        do {
          try first.get()
          try second.get()
          try configure("rw0", near, port: 51001, far, at: "127.0.0.1:51002")
          try configure("rw1", far, port: 51002, near, at: "127.0.0.1:51001")
          sources = [
            try ChildProcess(["/bin/sh", "-c", "ip link set rw0 up; ip link set rw1 up"], timeout: .seconds(50), on: loop) { _ in look() }
          ]
        } catch {
          done(.failure(ProviderError("\(error)")))
        }
      }
    }
    return (wireGuard, { sources.count })
  }
  try kept.get()
}

func stop(_ link: String) throws {
  let result: Result<Void, ProviderError> = try onLoop { loop, done in
    let wireGuard = UserspaceWireGuard(on: loop)
    wireGuard.stop(link: link, then: done)
    return wireGuard
  }
  try result.get()
}

func engine(_ body: (UserspaceWireGuard) throws -> Void) throws { try body(UserspaceWireGuard(on: EventLoop())) }

/// Links, sockets and engines of this network namespace.
func remains() throws -> [String] {
  // A process that has been told to end needs a moment.
  for _ in 0..<500 {
    if try lookForRemains().isEmpty { return [] }
    usleep(20_000)
  }
  return try lookForRemains()
}

private func lookForRemains() throws -> [String] {
  try shell("ip -o link | grep -v ' lo:' || true; ls /run/wireguard; pgrep -x roamward-wg --runstates RSD --ns $$ --nslist net || true")
    .split(separator: "\n").map(String.init)
}

/// The processes of this network namespace that wait for a link, once there are that many.
func waiting(_ count: Int = 1) throws -> [String] {
  let search = "pgrep -f '^roamward-wireguard --stand-by' --runstates RSD --ns $$ --nslist net || true"
  for _ in 0..<500 {
    let found = try shell(search).split(separator: "\n").map(String.init)
    if found.count == count { return found }
    usleep(20_000)
  }
  return try shell(search).split(separator: "\n").map(String.init)
}

struct KeyPair {
  let privateKey: SecretKey
  let publicKey: WireGuardKey

  init() {
    var (secret, point) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
    randombytes_buf(&secret, 32)
    // As `wg genkey` makes them (RFC 7748, section 5), so that the engine reports what it was given.
    secret[0] &= 248
    secret[31] = secret[31] & 127 | 64
    crypto_scalarmult_base(&point, secret)
    guard let privateKey = SecretKey(bytes: secret), let publicKey = WireGuardKey(bytes: point) else { preconditionFailure("no key") }
    self.privateKey = privateKey
    self.publicKey = publicKey
  }
}

extension WireGuardDevice {
  init(keys: KeyPair, port: UInt16, peers: [WireGuardPeer]) {
    self.init(engine: .userspace, privateKey: keys.privateKey, publicKey: keys.publicKey, listenPort: port, peers: peers)
  }
}

func peer(_ endpoint: String?, _ allowed: [String], _ keepalive: UInt16 = 0) -> WireGuardPeer {
  WireGuardPeer(
    publicKey: KeyPair().publicKey, presharedKey: endpoint == nil ? nil : KeyPair().privateKey, endpoint: endpoint.flatMap(Endpoint.init),
    allowedIPs: allowed.compactMap(IPPrefix.init), persistentKeepalive: keepalive)
}

/// The expected output of `wg show LINK dump`, as sets of words: the order of peers and of their prefixes is the engine's.
func expectedDump(_ device: WireGuardDevice) -> Set<[String]> {
  let mark = "0x" + String(device.firewallMark, radix: 16)
  let own = [base64(device.privateKey), base64(device.publicKey), "\(device.listenPort ?? 0)", mark]
  return Set(
    [own]
      + device.peers.map { peer in
        [
          base64(peer.publicKey), peer.presharedKey.map(base64) ?? "(none)", peer.endpoint?.description ?? "(none)",
          peer.allowedIPs.map(\.description).sorted().joined(separator: ","), "0", "0", "0",
          peer.persistentKeepalive == 0 ? "off" : "\(peer.persistentKeepalive)",
        ]
      })
}

func dump(_ link: String) throws -> Set<[String]> {
  let lines = try shell("wg show \(link) dump").split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
  return Set(
    lines.map { words in
      guard words.count == 8 else { return words }
      // Bytes sent depend on how soon one looks.
      return words[0..<3] + [words[3].split(separator: ",").sorted().joined(separator: ","), "0", "0", "0", words[7]]
    })
}

func base64(_ key: WireGuardKey) -> String { base64(key.bytes) }

func base64(_ key: SecretKey) -> String { base64(key.withUnsafeBytes { Array($0) }) }

private func base64(_ key: [UInt8]) -> String {
  var text = [CChar](repeating: 0, count: 45)
  sodium_bin2base64(&text, text.count, key, key.count, sodium_base64_VARIANT_ORIGINAL)
  return String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
