/// A laptop with two tunnels, each with names of its own, whose servers write down what they are asked: `corp` answers with 10.77.0.77,
/// `lab`, on a second gateway, with 10.88.0.77. `corp` and `lab`: a further domain of each.
func splitNamesScene(corp: String? = nil, lab: String? = nil, words: [String]) throws -> Scene {
  let scene = try Scene(
    [
      "50-corp.yaml": splitCorp.with("[corp.example], when", "[\(domains("corp.example", corp))], when"),
      "10-lab.yaml": splitLab.with("[lab.example]", "[\(domains("lab.example", lab))]"),
    ], words: words)
  try scene.play("lab-gateway")
  return scene
}

private func domains(_ first: String, _ second: String?) -> String { ([first] + [second].compactMap { $0 }).joined(separator: ", ") }

private let splitCorp = corp.with(
  "search-domains: [corp.example] }", "search-domains: [corp.example], match-domains: [corp.example], when-down: refuse }")

private let splitLab = """
  version: 1
  tunnels:
    lab:
      provider: { wireguard: { config: lab.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.88.0.0/16] }
      dns: { servers: [10.88.0.1], match-domains: [lab.example] }

  """
