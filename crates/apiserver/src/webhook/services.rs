//! Resolves Services to addresses.

use serde_json::Value;

use super::client::CallError;
use super::connect::ServiceReference;
use crate::object;
use crate::server::Server;

const SERVICES: &str = "/services";
const SLICES: &str = "discovery.k8s.io/endpointslices";

/// The address of a Service: its external name, or a ready endpoint. Cluster IPs are not routed here.
pub(super) fn find(server: &Server, reference: &ServiceReference) -> Result<String, CallError> {
    let key = object::key(&reference.namespace, &reference.name);
    let service = server.store.bucket(&SERVICES.into()).get(&key);
    let service = service
        .ok_or_else(|| CallError(format!("service {:?} not found", reference.name)))?
        .value();
    let prefix = format!("{}/", reference.namespace);
    let slices = server.store.bucket(&SLICES.into()).list(&prefix).0;
    let slices: Vec<Value> = slices
        .iter()
        .filter(|entry| entry.label("kubernetes.io/service-name") == Some(&reference.name))
        .map(|entry| entry.value())
        .collect();
    address(&service, &slices, reference.port).map_err(CallError)
}

fn address(service: &Value, slices: &[Value], port: u16) -> Result<String, String> {
    let name = object::name(service);
    if service["spec"]["type"] == "ExternalName" {
        let host = service["spec"]["externalName"].as_str().unwrap_or_default();
        return Ok(format!("{host}:{port}"));
    }
    let ports = service["spec"]["ports"].as_array();
    let found = ports.into_iter().flatten().find(|one| one["port"] == port);
    let found = found.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let port_name = found["name"].as_str().unwrap_or_default();
    for slice in slices {
        let items = |field: &str| slice[field].as_array().into_iter().flatten();
        let number = items("ports")
            .find(|port| port["name"].as_str().unwrap_or_default() == port_name)
            .and_then(|port| port["port"].as_u64());
        let host = items("endpoints")
            .find(|endpoint| endpoint["conditions"]["ready"] != false)
            .and_then(|endpoint| endpoint["addresses"][0].as_str());
        if let (Some(number), Some(host)) = (number, host) {
            return Ok(match host.contains(':') {
                true => format!("[{host}]:{number}"),
                false => format!("{host}:{number}"),
            });
        }
    }
    Err(format!("no endpoints available for service {name:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_leads_to_a_ready_endpoint_or_to_its_external_name() {
        let outside = json!({"metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
        assert_eq!(address(&outside, &[], 9443).unwrap(), "localhost:9443");
        let inside =
            json!({"metadata": {"name": "api"}, "spec": {"ports": [{"name": "https", "port": 443}]}});
        let slice = |ready: bool| {
            json!({"ports": [{"name": "https", "port": 8443}],
            "endpoints": [{"addresses": ["2001:db8::1"], "conditions": {"ready": ready}}]})
        };
        assert_eq!(
            address(&inside, &[slice(false), slice(true)], 443).unwrap(),
            "[2001:db8::1]:8443"
        );
        assert_eq!(
            address(&inside, &[slice(false)], 443).unwrap_err(),
            "no endpoints available for service \"api\""
        );
        assert_eq!(
            address(&inside, &[slice(true)], 80).unwrap_err(),
            "no service port 80 found for service \"api\""
        );
    }
}
