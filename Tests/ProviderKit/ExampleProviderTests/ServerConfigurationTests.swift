import NetworkTypes
import SeededRandom
import SimpleTunnel
import SimpleTunnelHost
import Testing

/// The property list of SimpleTunnel's server.
@Suite struct ServerConfigurationTests {
  private static func list(_ content: String) -> [UInt8] { Array("<plist version=\"1.0\"><dict>\(content)</dict></plist>".utf8) }
  private static func pool(_ first: String, _ last: String) -> String {
    "<key>Pool</key><dict><key>StartAddress</key><string>\(first)</string><key>EndAddress</key><string>\(last)</string></dict>"
  }
  private static func v4(_ content: String) -> [UInt8] { list("<key>IPv4</key><dict>\(content)</dict>") }

  @Test("the sample's keys are read, with both ends of the pool; absent ones are none") func sample() throws {
    let route = "<dict><key>Address</key><string>10.92.7.0</string><key>Netmask</key><string>255.255.255.0</string></dict>"
    let dns =
      "<key>DNS</key><dict><key>Servers</key><array><string>192.0.2.53</string></array>"
      + "<key>SearchDomains</key><array><string>corp.example</string></array></dict>"
    let whole = "<key>IPv4</key><dict>\(Self.pool("10.92.0.2", "10.92.0.10"))<key>Routes</key><array>\(route)</array></dict>\(dns)"
    let configuration = try ServerConfiguration(Self.list(whole))
    let expected = Configuration(routes: ["10.92.7.0/24"], servers: ["192.0.2.53"], searchDomains: ["corp.example"])
    #expect(configuration.pushed == expected)
    var pool = try #require(configuration.pool)
    #expect((0..<10).map { _ in pool.take()?.description } == (2...10).map { "10.92.0.\($0)" } + [nil])
    // A pool beside `IPv4` is one too; without routes everything is led to the server.
    #expect(try ServerConfiguration(Self.list(Self.pool("10.92.0.2", "10.92.0.3"))).pool != nil)
    #expect(try ServerConfiguration(Self.v4(Self.pool("10.92.0.2", "10.92.0.3"))).pushed.routes == nil)
    #expect(try ServerConfiguration(Self.list("")).pool == nil)
  }

  @Test("each mistake names its place") func mistakes() {
    let cases: [([UInt8], String)] = [
      (Array("<plist><array/></plist>".utf8), "the property list is no dictionary: it has IPv4 and DNS"),
      (
        Self.v4(Self.pool("10.92.0.9", "10.92.0.2")),
        "Pool: StartAddress 10.92.0.9 is above EndAddress 10.92.0.2, or one of them is not IPv4"
      ),
      (Self.v4(Self.pool("2001:db8::1", "10.92.0.2")), "Pool: StartAddress is a text with an IPv4 address, such as 192.0.2.2"),
      (Self.v4("<key>Pool</key><dict/>"), "Pool: StartAddress is a text with an IPv4 address, such as 192.0.2.2"),
      (Self.v4("<key>Routes</key><string>all</string>"), "IPv4.Routes is an array"),
      (
        Self.v4(
          "<key>Routes</key><array><dict><key>Address</key><string>10.0.0.0</string><key>Netmask</key><string>255.0.255.0</string></dict></array>"
        ),
        "IPv4.Routes: 10.0.0.0 with Netmask 255.0.255.0 is no network; 255.255.255.0 is a mask"
      ),
      (
        Self.list("<key>DNS</key><dict><key>Servers</key><array><string>intranet</string></array></dict>"),
        "DNS.Servers: each is a text with an address, such as 192.0.2.1"
      ),
      (
        Self.list("<key>DNS</key><dict><key>SearchDomains</key><array><integer>1</integer></array></dict>"),
        "DNS.SearchDomains: each is a text with a domain, such as corp.example"
      ),
    ]
    for (bytes, words) in cases {
      let mistake = #expect(throws: ServerConfiguration.Mistake.self) { try ServerConfiguration(bytes) }
      #expect(mistake?.description == words)
    }
  }

  @Test("random and cut bytes never trap") func arbitrary() {
    var random = SplitMix64(seed: 5)
    let whole = Self.v4(Self.pool("10.92.0.2", "10.92.0.10"))
    for _ in 0..<2000 {
      var bytes = Array(whole.prefix(Int(random.next() % UInt64(whole.count + 1))))
      if !bytes.isEmpty { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
      _ = try? ServerConfiguration(bytes)
    }
  }
}
