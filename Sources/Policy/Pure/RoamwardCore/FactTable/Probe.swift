package import NetworkTypes

/// A request that distinguishes networks: a GET from the underlay, never through a tunnel.
package struct Probe: Hashable, Sendable {
  /// http or https.
  package var url: String
  /// The only status that counts as an answer; redirects never count.
  package var status: Int
  /// SHA-256 digests of public keys (`sha256//BASE64`); the server has to have one of them.
  package var pins: [String]
  package var timeout: Duration

  package init(url: String, status: Int = 200, pins: [String] = [], timeout: Duration = .seconds(5)) {
    self.url = url
    self.status = status
    self.pins = pins
    self.timeout = timeout
  }
}

extension Probe {
  /// The name of the probe in reports: the URL, and everything else that distinguishes it. The same URL with another status or another key
  /// is another probe, with an answer of its own.
  package var name: String {
    let plain = Probe(url: url)
    var words = [url]
    if status != plain.status { words.append("status=\(status)") }
    if timeout != plain.timeout {
      words.append("timeout=\(timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000)ms")
    }
    return (words + pins.map { "pin=\($0)" }).joined(separator: " ")
  }
}

extension NetworkSnapshot {
  /// The probe's own answer, else the answer for its URL, else the answer for all other probes.
  package func answer(to probe: Probe) -> Fact<Bool> { probes[probe.name] ?? probes[probe.url] ?? otherProbes }
}
