// A Go controller's eyes: informers of every kind that client-go has, on one kubeconfig.
//
//	informer KUBECONFIG
//
// For every line on standard input it prints one line of JSON: what each of its stores holds, as
// store -> "namespace/name" -> resource version, how many events it has been told of, and the types
// that the server published when it started, each with its fields. It ends with its input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var probes = schema.GroupVersionResource{Group: "test.cambium.dev", Version: "v1", Resource: "probes"}

type state struct {
	WatchList   bool                         `json:"watchList"`
	Events      int64                        `json:"events"`
	Stores      map[string]map[string]string `json:"stores"`
	Listed      []string                     `json:"listed"`
	Deployments map[string]int32             `json:"deployments"`
	Definitions map[string][]string          `json:"definitions"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: informer KUBECONFIG")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	binary := rest.CopyConfig(config)
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	typed := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(binary), 0)
	selected := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0,
		informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "color=red" }))
	untyped := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	partial := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(binary), 0)

	configMaps, deployments := typed.Core().V1().ConfigMaps(), typed.Apps().V1().Deployments()
	watched := map[string]cache.SharedIndexInformer{
		"configmaps":          configMaps.Informer(),
		"deployments":         deployments.Informer(),
		"configmaps/red":      selected.Core().V1().ConfigMaps().Informer(),
		"probes":              untyped.ForResource(probes).Informer(),
		"probes/metadata":     partial.ForResource(probes).Informer(),
		"configmaps/metadata": partial.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer(),
	}
	var events atomic.Int64
	count := func() { events.Add(1) }
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { count() },
			UpdateFunc: func(any, any) { count() },
			DeleteFunc: func(any) { count() },
		}); err != nil {
			return err
		}
	}
	for _, factory := range []interface{ Start(<-chan struct{}) }{typed, selected, untyped, partial} {
		factory.Start(ctx.Done())
	}
	for _, informer := range watched {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("a cache did not become ready")
		}
	}

	definitions, err := published(kubernetes.NewForConfigOrDie(config))
	if err != nil {
		return err
	}

	lines, answers := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer := state{
			WatchList:   features.FeatureGates().Enabled(features.WatchListClient),
			Events:      events.Load(),
			Stores:      map[string]map[string]string{},
			Listed:      []string{},
			Deployments: map[string]int32{},
			Definitions: definitions,
		}
		for name, informer := range watched {
			answer.Stores[name] = versions(informer.GetStore())
		}
		red, err := configMaps.Lister().List(labels.SelectorFromSet(labels.Set{"color": "red"}))
		if err != nil {
			return err
		}
		for _, one := range red {
			answer.Listed = append(answer.Listed, one.Namespace+"/"+one.Name)
		}
		for _, one := range deployments.Informer().GetStore().List() {
			deployment := one.(*appsv1.Deployment)
			answer.Deployments[deployment.Namespace+"/"+deployment.Name] = *deployment.Spec.Replicas
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// published reads OpenAPI v2 in protobuf, as old clients do.
func published(client kubernetes.Interface) (map[string][]string, error) {
	document, err := client.Discovery().OpenAPISchema()
	if err != nil {
		return nil, err
	}
	definitions := map[string][]string{}
	for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
		fields := []string{}
		for _, field := range definition.GetValue().GetProperties().GetAdditionalProperties() {
			fields = append(fields, field.GetName())
		}
		definitions[definition.GetName()] = fields
	}
	return definitions, nil
}

func versions(store cache.Store) map[string]string {
	held := map[string]string{}
	for _, object := range store.List() {
		if accessor, err := meta.Accessor(object); err == nil {
			held[accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion()
		}
	}
	return held
}
