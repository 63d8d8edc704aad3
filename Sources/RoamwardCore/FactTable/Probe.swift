package import NetworkTypes

/// A request that tells one network from another: GET from the underlay, never through a tunnel.
package struct Probe: Hashable, Sendable {
  /// http or https.
  package var url: String
  /// The only status that counts as an answer; redirects never do.
  package var status: Int
  /// SHA-256 digests of public keys (`sha256//BASE64`), one of which the server has to have.
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
  /// What it is called where its answer is told: the URL, and whatever else sets it apart. One that asks the same URL for another status or
  /// another key is another probe, with an answer of its own.
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
  /// A probe's own answer, else what is said of its URL, else what is said of all others.
  package func answer(to probe: Probe) -> Fact<Bool> { probes[probe.name] ?? probes[probe.url] ?? otherProbes }
}
