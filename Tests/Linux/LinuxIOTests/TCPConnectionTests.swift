import LinuxIO
import NetworkTypes
import Testing

@Suite("The kernel's table of TCP connections") struct TCPConnectionTests {
  @Test("established ones alone, of both families, IPv4 over sockets of IPv6 as what it is") func parse() throws {
    let text = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
         1: 176433C6:0016 097100CB:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
         2: B80D0120000000000000000001000000:0016 B80D0120000000000000000002000000:9C41 01 00000000:00000000 00:00000000 00000000 0 0 3 1
         3: 0000000000000000FFFF0000176433C6:0016 0000000000000000FFFF0000097100CB:9C42 01 00000000:00000000 00:00000000 00000000 0 0 4 1
         4: nonsense 01 01 01
         5: 176433C6:0016
      """
    let v4 = try #require(IPAddress("203.0.113.9"))
    let v6 = try #require(IPAddress("2001:db8::2"))
    #expect(
      TCPConnection.parse(text) == [
        TCPConnection(localPort: 22, remote: v4, remotePort: 40_000), TCPConnection(localPort: 22, remote: v6, remotePort: 40_001),
        TCPConnection(localPort: 22, remote: v4, remotePort: 40_002),
      ])
  }

  @Test("can be read here") func reads() { #expect(TCPConnection.all != nil) }
}
