// An operator's test as controller-runtime users write it: envtest on a cluster that is there already
// (USE_EXISTING_CLUSTER), a manager that is elected, a controller that owns objects, a webhook that refuses.
// Prints "passed", or says what went wrong and ends with 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	group     = "envtest.example.com"
	namespace = "default"
)

var kind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}

func main() {
	ctrl.SetLogger(logr.Discard())
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("passed")
}

func run() error {
	environment := &envtest.Environment{
		CRDs: []*extensionsv1.CustomResourceDefinition{definition()},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{refusing()},
		},
	}
	config, err := environment.Start()
	if err != nil {
		return fmt.Errorf("envtest does not start: %w", err)
	}
	hooks := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection:          true,
		LeaderElectionID:        "widgets",
		LeaderElectionNamespace: namespace,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return err
	}
	judge := admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		if request.Name == "bad" {
			return admission.Denied("no bad widgets")
		}
		return admission.Allowed("")
	})
	manager.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: judge})
	controller := ctrl.NewControllerManagedBy(manager).Named("widgets").For(widget("")).Owns(&corev1.ConfigMap{})
	if err := controller.Complete(&reconciler{manager.GetClient()}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	started := manager.GetWebhookServer().StartedChecker()
	if err := until("the webhook is served", func() bool { return started(&http.Request{}) == nil }); err != nil {
		return err
	}
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := check(ctx, direct); err != nil {
		return err
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return environment.Stop()
}

// What the tests of an operator look at.
func check(ctx context.Context, direct client.Client) error {
	refusal := func(err error, part string) error {
		if err == nil || !strings.Contains(err.Error(), part) {
			return fmt.Errorf("not refused with %q: %w", part, errors.Join(err))
		}
		return nil
	}
	large := widget("large")
	_ = unstructured.SetNestedField(large.Object, int64(11), "spec", "size")
	if err := refusal(direct.Create(ctx, large), "should be less than or equal to 10"); err != nil {
		return err
	}
	if err := refusal(direct.Create(ctx, widget("bad")), "denied the request: no bad widgets"); err != nil {
		return err
	}
	one := widget("one")
	if err := direct.Create(ctx, one); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(one)
	seen := func() bool {
		err := direct.Get(ctx, key, one)
		size, _, _ := unstructured.NestedInt64(one.Object, "status", "seen")
		return err == nil && size == 3
	}
	if err := until("the status is written", seen); err != nil {
		return err
	}
	if err := direct.Get(ctx, key, &corev1.ConfigMap{}); err != nil {
		return err
	}
	if err := direct.Delete(ctx, one); err != nil {
		return err
	}
	return until("what it owns is collected", func() bool {
		return apierrors.IsNotFound(direct.Get(ctx, key, &corev1.ConfigMap{}))
	})
}

// Gives every widget a ConfigMap, and says so.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner := widget("")
	if err := r.Get(ctx, request.NamespacedName, owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !owner.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: owner.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		return controllerutil.SetControllerReference(owner, owned, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	size, _, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
	_ = unstructured.SetNestedField(owner.Object, size, "status", "seen")
	return ctrl.Result{}, r.Status().Update(ctx, owner)
}

func widget(name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3)}}}
	made.SetGroupVersionKind(kind)
	made.SetName(name)
	made.SetNamespace(namespace)
	return made
}

func definition() *extensionsv1.CustomResourceDefinition {
	number := extensionsv1.JSONSchemaProps{Type: "integer", Maximum: pointer(10.0)}
	holding := func(field string) extensionsv1.JSONSchemaProps {
		return extensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]extensionsv1.JSONSchemaProps{field: number}}
	}
	whole := &extensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]extensionsv1.JSONSchemaProps{
		"spec": holding("size"), "status": holding("seen"),
	}}
	return &extensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: extensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: extensionsv1.NamespaceScoped,
			Names: extensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: kind.Kind},
			Versions: []extensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema:       &extensionsv1.CustomResourceValidation{OpenAPIV3Schema: whole},
				Subresources: &extensionsv1.CustomResourceSubresources{Status: &extensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

func refusing() *admissionv1.ValidatingWebhookConfiguration {
	place := &admissionv1.ServiceReference{Name: "widgets", Namespace: namespace, Path: pointer("/validate")}
	rule := admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}}
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "widgets." + group, AdmissionReviewVersions: []string{"v1"},
			SideEffects:  pointer(admissionv1.SideEffectClassNone),
			ClientConfig: admissionv1.WebhookClientConfig{Service: place},
			Rules:        []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"}, Rule: rule}},
		}},
	}
}

func pointer[T any](value T) *T { return &value }

func until(what string, holds func() bool) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return nil
		}
	}
	return fmt.Errorf("never: %s", what)
}
