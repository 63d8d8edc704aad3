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
