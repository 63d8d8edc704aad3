import SeededRandom
import Testing

/// Valid files that nobody writes on purpose, on the real kernel: what is desired is what reading back shows.
@Suite("An odd file", .needsLab)
struct OddFilesTests {
  static let always = """
    version: 1
    tunnels:
      corp:
        provider: { wireguard: { config: corp.conf } }
        on-demand: { rules: [{ action: connect }] }

    """

  @Test("connects, needs no repair, and leaves nothing")
  func settles() throws {
    let scene = try Scene(["corp.yaml": Self.always])
    var random = SplitMix64(seed: 24)
    var files = Self.known
    for _ in 0..<16 { files.append(Self.odd(&random)) }
    for (number, file) in files.enumerated() {
      try scene.write("odd-\(number)", [file.interface, file.allowed, file.other, file.text].joined(separator: "\n") + "\n")
      try scene.write("odd-\(number).yaml", Self.always + file.policy)
    }
    let seen = try scene.play("OddFiles/settles", with: ["COUNT": files.count])
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[done]"], "\(seen)")
  }

  struct File {
    var addresses: [String]
    var allowed: String
    var other = ""
    var mtu: Int?
    var policy = ""

    /// For sed(1), which makes lines of it.
    var interface: String { (addresses.map { "Address = \($0)" } + (mtu.map { ["MTU = \($0)"] } ?? [])).joined(separator: "\\n") }
    var text: String { "\(addresses.joined(separator: " ")) <- \(allowed) | \(other) \(policy.lines.joined())" }
  }

  static let known = [
    File(addresses: ["10.77.0.2/32"], allowed: "0.0.0.0/1, 128.0.0.0/1"),
    File(addresses: ["10.77.0.2/32"], allowed: "0.0.0.0/2, 64.0.0.0/2, 128.0.0.0/1"),
    File(addresses: ["10.77.0.2/32", "fd00:77::2/128"], allowed: "0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1"),
    File(addresses: ["10.77.0.2/24"], allowed: "10.77.0.0/16", other: "10.77.0.0/16"),
    File(addresses: ["10.77.0.2/24", "10.77.0.2/32", "fd00:77::2/64", "fd00:77::2/128"], allowed: "10.77.0.7/16, 10.77.0.0/16"),
    File(addresses: ["10.77.0.2/32", "fd00:77::2/128"], allowed: "0.0.0.0/0, ::/0", mtu: 1000),
    File(addresses: ["10.77.0.2/32"], allowed: "::ffff:10.77.0.0/112, 10.77.0.0/16"),
    File(addresses: ["10.77.0.2/32"], allowed: "0.0.0.0/1, 128.0.0.0/1", policy: "    kill-switch: \"on\"\n"),
  ]

  static func odd(_ random: inout SplitMix64) -> File {
    let prefixes = [
      "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2", "::/0", "::/1", "8000::/1",
      "10.77.0.0/16", "10.77.0.9/24", "10.77.0.2/32", "fd00:77::/48", "fd00:77::5/64", "203.0.113.10/32", "203.0.113.0/24", "224.0.0.0/4",
      "127.0.0.0/8", "::1/128", "fe80::/10", "ff00::/8", "255.255.255.255/32", "0.0.0.0/32", "::/128", "169.254.0.0/16",
    ]
    let addresses = ["10.77.0.2/32", "10.77.0.2/24", "10.77.0.3/24", "10.77.0.2/8", "fd00:77::2/64", "fd00:77::2/128", "fd00:77::3/128"]
    let policies = [
      "", "", "    kill-switch: \"on\"\n", "    routes: { include: [0.0.0.0/1, 128.0.0.0/1] }\n",
      "    routes: { include: [default], exclude: [203.0.113.0/24, 203.0.113.0/25] }\n",
      "    dns: { servers: [10.77.0.1, 10.77.0.1], search-domains: [corp.example] }\n",
    ]
    func some(_ most: Int, of list: [String]) -> [String] { (0..<1 + Int(random.next() % UInt64(most))).map { _ in random.pick(list) } }
    return File(
      addresses: some(4, of: addresses), allowed: some(6, of: prefixes).joined(separator: ", "),
      other: random.chance(0.5) ? some(4, of: prefixes).joined(separator: ", ") : "", mtu: random.chance(0.2) ? 1279 : nil,
      policy: random.pick(policies))
  }
}
