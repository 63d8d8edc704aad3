internal import HostProbes
internal import HostProxies
internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// The longest script of proxies that is fetched, in bytes: what one answer of `roamward-probe` holds.
private let longestScript = 16_000

/// Fetches a script of proxies through its tunnel, by the process that reads what strangers answer.
func fetchScript(_ source: ScriptSource, by probes: ProbeRunner, then done: @escaping (ScriptFetch.Outcome) -> Void) -> AnyObject? {
  let servers: Fact<[IPAddress]> = source.servers.isEmpty ? .unknown(reason: "the tunnel has none") : .known(source.servers)
  var request = ProbeRequest(url: source.url)
  request.bodyLimit = longestScript + 1
  return probes.run(request, by: ProbePassage(link: source.link, mark: 0, nameServers: servers)) { reply in
    switch reply {
    case .response(200, let body) where body.count > longestScript:
      done(.failure(.init("it is longer than \(longestScript) bytes; cure: put the script into a file (`pac-file`)")))
    case .response(200, let body) where body.isEmpty: done(.failure(.init("it is empty")))
    case .response(200, let body): done(.success(body))
    case .response(let status, _): done(.failure(.init("the server answers with status \(status)")))
    case .impostor(let reason), .unanswered(let reason), .unsent(let reason): done(.failure(.init(source.obstacle ?? reason)))
    case .portal: done(.failure(.init("it is no script")))
    }
  }
}
