import Glibc
import LinuxIO
import SeededRandom
import TestSupport
import Testing

@testable import NebulaProvider

@Suite("nebula gets a stranger's file written anew") struct NebulaFileTests {
  private func text(_ file: String, given: Set<String> = []) throws -> String {
    try NebulaFile(Array(file.utf8), given: given).text
  }

  @Test("what nebula needs is kept, and what the agent sets is left out") func kept() throws {
    #expect(
      try text(
        """
        # A host's file.
        pki:
          ca: /etc/nebula/ca.crt
          cert: |
            -----BEGIN NEBULA CERTIFICATE-----
            Ck==
            -----END NEBULA CERTIFICATE-----
          key: host.key
          blocklist: [c99d4e650533b92061b09918e838a5a0a6aaee21eed1d12fd937682865936c72]
        static_host_map: { "10.96.0.1": ["vpn.corp.example:4242", '[2001:db8::1]:4242'] }
        lighthouse:
          am_lighthouse: no
          interval: 60
          hosts: [10.96.0.1]
          serve_dns: false
          remote_allow_list: { 0.0.0.0/0: yes, 10.0.0.0/8: false }
        listen: { host: "::", port: 0, so_mark: 7 }
        tun: { dev: nebula1, mtu: 1300, tx_queue: 500, unsafe_routes: [], routes: }
        sshd: { enabled: false, listen: "127.0.0.1:2222" }
        stats: { type: none }
        logging: { level: debug }
        firewall:
          conntrack: { tcp_timeout: 12m }
          outbound: [{ port: any, proto: any, host: any }]
          inbound: [{ port: 0443, proto: tcp, groups: [laptop, home] }]
        """, given: ["ca", "key"])
        == #"{"pki": {"cert": "-----BEGIN NEBULA CERTIFICATE-----\nCk==\n-----END NEBULA CERTIFICATE-----\n", "#
        + #""blocklist": ["c99d4e650533b92061b09918e838a5a0a6aaee21eed1d12fd937682865936c72"]}, "#
        + #""static_host_map": {"10.96.0.1": ["vpn.corp.example:4242", "[2001:db8::1]:4242"]}, "#
        + #""lighthouse": {"am_lighthouse": false, "interval": 60, "hosts": ["10.96.0.1"], "#
        + #""remote_allow_list": {"0.0.0.0/0": true, "10.0.0.0/8": false}}, "listen": {"host": "::", "port": 0}, "tun": {"tx_queue": 500}, "#
        + #""firewall": {"conntrack": {"tcp_timeout": "12m"}, "outbound": [{"port": "any", "proto": "any", "host": "any"}], "#
        + #""inbound": [{"port": "0443", "proto": "tcp", "groups": ["laptop", "home"]}]}}"#)
    #expect(try text("") == "{}" && text("# nothing\n") == "{}")
  }

  @Test(
    "what opens sockets, reads files or sets routes is refused with its line",
    arguments: [
      ("sshd: { enabled: true, host_key: /etc/shadow }", 2, "a shell"), ("sshd: {listen: x}", 2, "a shell"),
      ("stats:\n  type: prometheus\n  listen: 0.0.0.0:8080", 3, "figures"), ("stats: { type: graphite, host: 203.0.113.9 }", 2, "figures"),
      ("lighthouse:\n  serve_dns: true\n  dns: { host: 0.0.0.0 }", 3, "DNS questions"), ("pki:\n  ca: /etc/shadow", 3, "names a file"),
      ("pki: { key: 'pkcs11:token=x;module-path=/tmp/evil.so' }", 2, "names a file"),
      ("tun:\n  unsafe_routes:\n    - { route: 0.0.0.0/0, via: 10.96.0.9 }", 4, "beside the agent's"),
      ("tun: { use_system_route_table: true }", 2, "the agent's"),
      ("tun: { routes: [{ mtu: 900, route: 10.96.0.0/24 }] }", 2, "beside the agent's"),
      ("exec: /bin/sh", 2, "`exec` is not known"), ("lighthouse: { Serve_DNS: true }", 2, "a key is not known"),
      ("listen: { host: { a: b } }", 2, "expected a word"), ("listen: 5", 2, "expected keys"),
      ("firewall: { inbound: { a: b } }", 2, "expected a list"),
      ("a: &x 1", 2, "anchors and tags"), ("listen: *x", 2, "aliases"), ("listen: !!str x", 2, "anchors and tags"),
      ("<<: { a: 1 }", 2, "no word"),
      ("listen: {}\nlisten: { port: 1 }", 3, "given twice"), ("listen: {}\n---\nsshd: { enabled: true }", 3, "second document"),
      ("listen: { host: \"a\u{7}\" }", 2, "control character"), ("cipher: a\u{85}sshd: b", 2, "control character"),
      ("listen: [", 3, ""), ("? [a, b]\n: c", 2, "no word"),
    ]) func refused(file: String, line: Int, words: String) throws
  {
    let failure = #expect(throws: NebulaFile.Failure.self) { try text("cipher: aes\n\(file)\n") }
    #expect(failure?.line == line && failure?.reason.contains(words) == true, "\(String(describing: failure))")
  }

  @Test("what is written is read as the same values again, whatever they contain") func again() throws {
    let words = [
      "a: b", "- x", "\\", "\"", "'", "#", "{", "}", "|", "é", "\n", "\t", "~", "yes", "0x1", "1e3", " ", "-----BEGIN ", "sshd:", "*a",
      "&a",
    ]
    var random = SplitMix64(seed: 39)
    for _ in 0..<2000 {
      let word = (0..<(random.next() % 5 + 1)).map { _ in words.randomElement(using: &random) ?? "" }.joined()
      let node = NebulaNode(line: 1, content: .scalar(word, isPlain: false))
      let tree = NebulaNode(
        line: 1,
        content: .mapping([
          .init(key: "static_host_map", line: 1, value: .init(line: 1, content: .mapping([.init(key: word, line: 1, value: node)])))
        ]))
      let read = try NebulaNode(parsing: Array(tree.text.utf8))
      #expect(read == tree, "\(tree.text)")
    }
  }

  @Test(
    "nebula itself reads the written file as it reads the other", .enabled(if: access("/usr/bin/nebula-cert", X_OK) == 0)) func program()
    throws
  {
    let folder = try TemporaryFolder()
    func made(_ arguments: String...) throws {
      let said = try run(["/usr/bin/nebula-cert"] + arguments)
      #expect(said.code == 0, "\(said.output)")
    }
    try made("ca", "-name", "ca", "-out-crt", "\(folder.path)/ca.crt", "-out-key", "\(folder.path)/ca.key")
    try made(
      "sign", "-name", "laptop", "-ip", "10.96.0.2/24", "-ca-crt", "\(folder.path)/ca.crt", "-ca-key", "\(folder.path)/ca.key", "-out-crt",
      "\(folder.path)/host.crt", "-out-key", "\(folder.path)/host.key")
    func indented(_ name: String) throws -> String {
      String(decoding: try TextFile.read("\(folder.path)/\(name)"), as: UTF8.self).split(separator: "\n").map { "    \($0)\n" }.joined()
    }
    let file = """
      pki:
        ca: |
      \(try indented("ca.crt"))
        cert: |
      \(try indented("host.crt"))
        key: |
      \(try indented("host.key"))
      static_host_map: { "10.96.0.1": ["203.0.113.10:4242"] }
      lighthouse: { hosts: ["10.96.0.1"], interval: 5, remote_allow_list: { "0.0.0.0/0": true } }
      punchy: { punch: yes }
      firewall: { outbound: [{ port: any, proto: any, host: any }], inbound: [{ port: 22, proto: tcp, group: home }] }

      """
    var hashes: Set<Substring> = []
    for (name, text) in [("plain.yml", file), ("anew.yml", try text(file) + "\n")] {
      try TextFile.replace("\(folder.path)/\(name)", with: Array(text.utf8), mode: 0o600)
      let said = try run(["/usr/bin/nebula", "-test", "-config", "\(folder.path)/\(name)"])
      #expect(said.code == 0 && said.output.contains("startPort:22"), "\(name): \(said.output)")
      // Of all rules of its firewall.
      hashes.insert(said.output.split(separator: "firewallHash=").last?.prefix(64) ?? "")
    }
    #expect(hashes.count == 1 && hashes.first?.count == 64, "\(hashes)")
  }
}
