import Testing

/// The example programs of SimpleTunnel, by ordinary users.
@Suite("SimpleTunnel's server and the flows of applications", .needsLab)
struct SimpleTunnelTests {
  @Test("carry TCP and UDP by name and address to what only the server reaches, with back-pressure and half closes") func flows() throws {
    let scene = try Scene(words: ["names.bash", "kinds.bash"])
    let seen = try scene.play("SimpleTunnel/flows")
    let (refused, wrong) = ("curl: (97) Can't complete SOCKS5 connection to ", "simpletunnel-server: SCENE/wrong.plist: ")
    #expect(
      seen.lines.map { $0.replacing(scene.folder, with: "SCENE") } == [
        "\(wrong)Pool: StartAddress 10.92.0.2 is above EndAddress 10.91.0.1, or one of them is not IPv4", "[64]",
        "\(wrong)DNS.Servers: each is a text with an address, such as 192.0.2.1", "[64]",
        "simpletunnel-server: the second argument is the property list, and then there is --device TUN alone; see --help", "[64]",
        "simpletunnel-flows: the first argument is the server, HOST:PORT; see --help", "[64]",
        "simpletunnel-server: listening at port 9997: flows, and packets by simple0; everyone who reaches it can use it",
        "simpletunnel-flows: listening at 127.0.0.1:1080: SOCKS5 (TCP, UDP) and CONNECT of HTTP",
        "curl: (7) Failed to connect to 10.77.0.1 port 80: Couldn't connect to server", "000", "200", "200", "200",
        "[asked: 1 at the gateway, 0 in the café]", "10.77.0.1", "10.77.0.1", "\(refused)127.0.0.1. (5)", "000",
        "\(refused)203.0.113.80. (5)", "000", "\(refused)a..b. (4)", "000", "50 of 50", "10 of 10", "[MiB: below 128, below 128]", "0",
        "200",
        "\(refused)10.77.0.1. (5)", "000", "200",
      ], "\(seen)")
  }
}
