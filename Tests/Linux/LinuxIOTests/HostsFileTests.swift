import LinuxIO
import NetworkTypes
import Testing

@Suite("The hosts file")
struct HostsFileTests {
  @Test("gives a name's addresses by any of its names, in any case, and passes over what it cannot read")
  func addresses() throws {
    let text = """
      127.0.0.1\tlocalhost # 192.0.2.9 vpn.example
      ::1 localhost
      # 192.0.2.8 vpn.example
      192.0.2.1  gw.example\tVPN.Example
      192.0.2.1 vpn.example.
      2001:db8::1 vpn.example\r
      192.0.2.300 vpn.example
      fe80::1%eth0 vpn.example
      192.0.2.2 vpn.example.org myvpn.example vpn
      """
    func found(_ name: String) throws -> [String] {
      HostsFile.addresses(of: try #require(DomainName(name)), in: text.utf8).map(\.description)
    }
    #expect(try found("localhost") == ["127.0.0.1", "::1"] && found("gw.example") == ["192.0.2.1"])
    let name = try #require(DomainName("vpn.example"))
    #expect(HostsFile.addresses(of: name, in: text.utf8).map(\.description) == ["192.0.2.1", "2001:db8::1"])
    #expect(HostsFile.addresses(of: name, in: [UInt8]()).isEmpty && HostsFile.addresses(of: name, in: "vpn.example".utf8).isEmpty)
  }
}
