/// A laptop with two tunnels, each with names of its own, whose servers write down what they are asked: `corp` answers with 10.77.0.77,
/// `lab`, on a second gateway, with 10.88.0.77. `corp` and `lab`: a further domain of each.
func splitNamesScene(corp: String? = nil, lab: String? = nil, words: [String]) throws -> Scene {
  let scene = try Scene(
    [
      "50-corp.yaml": splitCorp.with("[corp.example], when", "[\(domains("corp.example", corp))], when"),
      "10-lab.yaml": splitLab.with("[lab.example]", "[\(domains("lab.example", lab))]"),
    ], words: words)
  try scene.run("second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/lab.conf; chmod 600 $policies/lab.conf")
  return scene
}

/// Starts the second gateway's name server, for a script with the words of `names.bash`.
let witnessesOfBoth = """
  witness_names
  on gateway dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=10.88.0.1 --pid-file= \\
    --log-queries --log-facility="$scene/names-lab" "--address=/#/10.88.0.77"
  both_up() { tunnel_is corp connected; tunnel_is lab connected; }

  """

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
